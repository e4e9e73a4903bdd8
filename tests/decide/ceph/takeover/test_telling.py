import json

import pytest

from plimsoll.api.core import ConfigMap
from plimsoll.api.meta import ObjectKey, ObjectMeta
from plimsoll.decide.annotations import AUTO_TAKEOVER
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.auto_takeover import AddTakeover, EndTakeover
from plimsoll.decide.ceph.takeover.served_domains import NodeLabelChange
from plimsoll.decide.ceph.takeover.telling import (
    TakeoverReason,
    edit_plan,
    label_plan,
    own_sources,
    rehearsal,
    tell_of_map,
)
from plimsoll.decide.plan import Create, Emit, EventType, Patch
from tests.builders import a_node

KEY = ObjectKey("kube-system", "map")
PLACE = (KEY, "config.json")
SERVES_A, SERVES_B = "topology.d.org/serves.a", "topology.d.org/serves.b"
DOMAINS = DomainLabels(driver="d.org", labels=("x/zone",))
NODE = a_node("a1", labels={"x/zone": "a"})
LOST = AddTakeover(source="b", why="b is lost.")


def config_map(text: str, **annotations: str) -> ConfigMap:
    metadata = ObjectMeta(
        namespace=KEY.namespace,
        name=KEY.name,
        uid="u",
        resource_version="7",
        annotations={AUTO_TAKEOVER: annotations["own"]} if annotations else {},
    )
    return ConfigMap(metadata=metadata, data={"config.json": text})


def test_labels_are_written_on_the_version_that_was_seen() -> None:
    change = NodeLabelChange(node="a1", added=(SERVES_A,), removed=(SERVES_B,))
    (patch, told) = label_plan(DOMAINS, NODE, change).writes
    assert isinstance(patch, Patch)
    assert patch.patch == {"metadata": {"labels": {SERVES_A: "true", SERVES_B: None}}}
    assert (patch.version, patch.uid) == (NODE.metadata.resource_version, NODE.uid)
    assert isinstance(told, Emit)
    assert (told.reason, told.message) == (
        "DomainGivenBack",
        "Node a1 does not serve b any more.",
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(NodeLabelChange(node="a1", added=(SERVES_A,)), [], id="its-own-domain"),
        pytest.param(
            NodeLabelChange(node="a1", added=(SERVES_B,)),
            ["Node a1 serves b, which it has taken over."],
            id="a-domain-that-it-takes-over",
        ),
        pytest.param(
            NodeLabelChange(node="a1", removed=(SERVES_A,)),
            ["Node a1 does not serve a: the domain is fenced."],
            id="a-node-that-is-fenced",
        ),
    ],
)
def test_only_what_follows_from_takeovers_is_told(change: NodeLabelChange, told: list[str]) -> None:
    writes = label_plan(DOMAINS, NODE, change).writes
    assert [write.message for write in writes if isinstance(write, Emit)] == told


def test_an_entry_is_added_to_what_the_map_has() -> None:
    text = json.dumps({"version": 2, "clusters": [{"clusterID": "x"}]})
    patch, told = edit_plan(PLACE, config_map(text), LOST).writes
    assert isinstance(patch, Patch)
    assert (patch.version, patch.uid) == ("7", "u")
    assert patch.patch["metadata"] == {"annotations": {AUTO_TAKEOVER: "b"}}
    assert json.loads(patch.patch["data"]["config.json"]) == {
        "version": 2,
        "clusters": [{"clusterID": "x"}],
        "topology-takeover": {"b": ["all"]},
    }
    assert isinstance(told, Emit)
    assert (told.reason, told.type) == ("DomainLost", EventType.WARNING)


def test_a_map_that_is_missing_is_made() -> None:
    made, _ = edit_plan(PLACE, None, LOST).writes
    assert isinstance(made, Create)
    assert made.key == KEY
    assert json.loads(made.document["data"]["config.json"]) == {
        "version": 2,
        "topology-takeover": {"b": ["all"]},
    }


def test_the_entry_goes_and_its_mark_with_it() -> None:
    text = json.dumps({"version": 2, "topology-takeover": {"b": ["all"], "c": ["a"]}})
    back = EndTakeover(source="b", why="b is back.")
    patch, _ = edit_plan(PLACE, config_map(text, own="b"), back).writes
    assert isinstance(patch, Patch)
    assert patch.patch["metadata"] == {"annotations": {AUTO_TAKEOVER: None}}
    assert json.loads(patch.patch["data"]["config.json"])["topology-takeover"] == {"c": ["a"]}


def test_a_map_that_ceph_csi_reads_is_not_edited() -> None:
    with pytest.raises(ValueError, match="as ceph-csi has it"):
        edit_plan(PLACE, config_map("[]"), LOST)


def test_entries_of_the_controller_are_marked() -> None:
    assert own_sources(config_map("{}", own="b,west.c")) == {"b", "west.c"}
    assert own_sources(config_map("{}")) == own_sources(None) == set()


def test_a_dry_run_says_what_would_be_done() -> None:
    assert rehearsal(LOST) == "b is lost. b would be taken over (dry run)."
    assert rehearsal(EndTakeover(source="b", why="b is back.")) == (
        "b is back. b would be given back (dry run)."
    )


def test_a_map_that_does_not_exist_can_be_told_of() -> None:
    told = tell_of_map(KEY, None, TakeoverReason.WAITS, "It waits.")
    assert told.regarding["metadata"] == {"namespace": "kube-system", "name": "map"}
    assert told.type is EventType.WARNING
