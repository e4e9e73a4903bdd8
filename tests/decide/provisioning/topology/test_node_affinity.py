from plimsoll.api.typed import from_document
from plimsoll.api.volumes import VolumeNodeAffinity
from plimsoll.decide.provisioning.topology.node_affinity import (
    is_reachable,
    node_affinity,
    reach_complaint,
    usable_affinity,
)
from tests.builders import ZONE

RACK = "example.org/rack"


def test_segments_are_alternatives_and_their_labels_are_all_needed() -> None:
    assert node_affinity([{ZONE: "a", RACK: "1"}, {ZONE: "b"}]) == {
        "required": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": RACK, "operator": "In", "values": ["1"]},
                        {"key": ZONE, "operator": "In", "values": ["a"]},
                    ]
                },
                {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]},
            ]
        }
    }


def test_a_driver_that_says_nothing_binds_the_volume_to_no_node() -> None:
    assert node_affinity([]) is None
    assert usable_affinity([{}]) is None


def test_csi_provisioner_writes_an_affinity_without_terms_for_empty_segments() -> None:
    assert node_affinity([{}]) == {"required": {"nodeSelectorTerms": None}}


def test_a_volume_is_reached_from_where_its_affinity_says() -> None:
    affinity = from_document(VolumeNodeAffinity, node_affinity([{ZONE: "a"}]) or {})

    assert is_reachable(affinity.required, {ZONE: "a", RACK: "1"})
    assert not is_reachable(affinity.required, {ZONE: "b"})
    assert is_reachable(affinity.required, None)
    assert is_reachable(None, {ZONE: "b"})


def test_an_affinity_that_makes_no_sense_is_complained_about() -> None:
    expression = {"key": ZONE, "operator": "Almost", "values": ["a"]}
    affinity = from_document(
        VolumeNodeAffinity,
        {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
    )

    assert "Almost" in reach_complaint(affinity.required, {ZONE: "a"})
    assert reach_complaint(affinity.required, None) == ""
