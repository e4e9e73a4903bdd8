"""Which node affinity zone labels become, and which volumes are left as they are."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.selectors.node import (
    NodeRequirementSpec,
    NodeSelector,
    NodeSelectorSpec,
    NodeTermSpec,
)
from plimsoll.api.volumes import PersistentVolume, VolumeNodeAffinity
from plimsoll.decide.claims.zonal import ZonalReason, decide_zonal_upgrade, zonal_upgrade
from plimsoll.decide.plan import NOTHING, Emit, Patch
from tests.builders import a_volume

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


def labelled(
    labels: Mapping[str, str], affinity: NodeSelectorSpec | None = None, **metadata: Any
) -> PersistentVolume:
    volume = a_volume()
    spec = volume.spec
    if affinity is not None:
        spec = msgspec.structs.replace(spec, node_affinity=VolumeNodeAffinity(required=affinity))
    changed = msgspec.structs.replace(
        volume.metadata, labels=labels, resource_version="4", **metadata
    )
    return msgspec.structs.replace(volume, metadata=changed, spec=spec)


def requirement(key: str, *values: str) -> NodeRequirementSpec:
    return NodeRequirementSpec(key=key, operator="In", values=values)


def selector(*terms: tuple[NodeRequirementSpec, ...]) -> NodeSelectorSpec:
    return NodeSelectorSpec(
        node_selector_terms=tuple(NodeTermSpec(match_expressions=term) for term in terms)
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param(
            {OLD_ZONE: "us-central1-a", OLD_REGION: "us-central1"},
            (requirement(OLD_ZONE, "us-central1-a"), requirement(OLD_REGION, "us-central1")),
            id="one-zone",
        ),
        pytest.param(
            {OLD_REGION: "us-central1", OLD_ZONE: "us-central1-a__us-central1-b"},
            (
                requirement(OLD_ZONE, "us-central1-a", "us-central1-b"),
                requirement(OLD_REGION, "us-central1"),
            ),
            id="two-zones",
        ),
        pytest.param(
            {ZONE: "a__b__a", REGION: "r"},
            (requirement(ZONE, "a", "b"), requirement(REGION, "r")),
            id="newer-labels",
        ),
        pytest.param({REGION: "r"}, (requirement(REGION, "r"),), id="region-only"),
        pytest.param(
            {OLD_ZONE: "a", ZONE: "a", OLD_REGION: "r"},
            (requirement(OLD_REGION, "r"), requirement(ZONE, "a")),
            id="an-older-label-beside-the-newer-adds-nothing",
        ),
        pytest.param({ZONE: " a__ b "}, (requirement(ZONE, "a", "b"),), id="spaces-are-trimmed"),
    ],
)
def test_zone_labels_become_node_affinity(
    labels: dict[str, str], expected: tuple[NodeRequirementSpec, ...]
) -> None:
    upgrade = zonal_upgrade(labelled(labels), [])
    assert upgrade.reason is ZonalReason.UPGRADED
    assert upgrade.affinity == selector(expected)


@pytest.mark.parametrize(
    ("volume", "reason"),
    [
        pytest.param(labelled({"app": "web"}), ZonalReason.NO_LABELS, id="no-zone-labels"),
        pytest.param(labelled({ZONE: "a____b"}), ZonalReason.UNREADABLE, id="empty-part"),
        pytest.param(labelled({ZONE: ""}), ZonalReason.UNREADABLE, id="empty-label"),
        pytest.param(
            labelled({OLD_ZONE: "a", ZONE: "b"}), ZonalReason.CONTRADICTORY, id="contradiction"
        ),
        pytest.param(
            labelled({ZONE: "a"}, selector((requirement(ZONE, "b"),))),
            ZonalReason.ALREADY_THERE,
            id="affinity-on-the-same-label",
        ),
        pytest.param(
            labelled({OLD_ZONE: "a", OLD_REGION: "r"}, selector((requirement(ZONE, "a"),))),
            ZonalReason.ALREADY_THERE,
            id="affinity-on-the-successor",
        ),
        pytest.param(
            labelled({ZONE: "a"}, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)),
            ZonalReason.BEING_DELETED,
            id="being-deleted",
        ),
    ],
)
def test_what_is_left_alone_and_why(volume: PersistentVolume, reason: ZonalReason) -> None:
    assert zonal_upgrade(volume, []).reason is reason
    assert decide_zonal_upgrade(volume, []) is NOTHING


def test_the_write_adds_the_affinity_to_the_volume_as_it_was_seen() -> None:
    patch, event = decide_zonal_upgrade(labelled({ZONE: "a"}), []).writes
    assert isinstance(patch, Patch)
    assert isinstance(event, Emit)
    assert patch.version == "4"
    assert set(patch.patch) == {"spec"}
    assert event.message == (
        "The volume's zone labels became node affinity: topology.kubernetes.io/zone in (a)."
    )


@pytest.mark.parametrize(
    ("nodes", "key"),
    [
        pytest.param([], OLD_ZONE, id="without-nodes-as-labelled"),
        pytest.param([{OLD_ZONE: "a"}, {ZONE: "a"}], OLD_ZONE, id="some-nodes-have-the-older"),
        pytest.param([{ZONE: "a"}], ZONE, id="nodes-of-the-zone-have-the-newer-only"),
        pytest.param([{ZONE: "b"}], OLD_ZONE, id="no-node-is-in-the-zone-anyway"),
    ],
)
def test_the_newer_name_is_used_where_the_older_would_reach_no_node(
    nodes: list[dict[str, str]], key: str
) -> None:
    upgrade = zonal_upgrade(labelled({OLD_ZONE: "a"}), nodes)
    assert [r.key for r in upgrade.added] == [key]


def test_an_affinity_about_other_things_keeps_every_word_of_it() -> None:
    rack = requirement("example.com/rack", "1")
    other = requirement("example.com/rack", "2")
    upgrade = zonal_upgrade(labelled({ZONE: "a"}, selector((rack,), (other,))), [])
    added = requirement(ZONE, "a")
    assert upgrade.affinity == selector((rack, added), (other, added))


ZONES = st.sampled_from(["a", "b", "c"])
NODES = st.lists(
    st.dictionaries(st.sampled_from([OLD_ZONE, ZONE, "example.com/rack"]), ZONES, max_size=3),
    max_size=5,
)
AFFINITY = st.one_of(
    st.none(),
    st.lists(
        st.builds(lambda rack: (requirement("example.com/rack", rack),), ZONES),
        min_size=1,
        max_size=2,
    ).map(lambda terms: selector(*terms)),
)


@given(
    labels=st.dictionaries(st.sampled_from([OLD_ZONE, ZONE]), ZONES, min_size=1),
    affinity=AFFINITY,
    nodes=NODES,
)
def test_the_new_affinity_reaches_only_nodes_of_the_zone_that_the_old_one_reached(
    labels: dict[str, str], affinity: NodeSelectorSpec | None, nodes: list[dict[str, str]]
) -> None:
    upgrade = zonal_upgrade(labelled(labels, affinity), nodes)
    if upgrade.affinity is None:
        assert upgrade.reason is ZonalReason.CONTRADICTORY
        return
    before = None if affinity is None else NodeSelector.of(affinity)
    after = NodeSelector.of(upgrade.affinity)
    for node in nodes:
        if after.matches(node):
            assert before is None or before.matches(node)
            assert set(labels.values()) <= {node.get(OLD_ZONE), node.get(ZONE)}
    # Asked again, there is nothing left to do.
    again = labelled(labels, upgrade.affinity)
    assert zonal_upgrade(again, nodes).reason is ZonalReason.ALREADY_THERE
