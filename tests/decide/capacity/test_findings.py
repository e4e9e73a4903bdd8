"""Every way in which published capacity can be wrong, and that nothing else is called wrong."""

from dataclasses import replace

import msgspec
import pytest

from plimsoll.api.core import Lease
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.findings import CapacityFinding, findings
from plimsoll.decide.capacity.names import TEMPLATE_NODE
from plimsoll.decide.capacity.overview import overview_of
from plimsoll.decide.capacity.volume_sizes import Cost
from tests.builders import ZONE
from tests.decide.capacity.scenes import (
    HOST,
    a_lease,
    in_pool,
    observed,
    published,
    publisher_lease,
    seen,
)

EXISTS = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key=ZONE, operator="Exists"),))
BROKEN = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key=ZONE, operator="Like"),))


def codes(*capacities: CSIStorageCapacity) -> list[CapacityFinding]:
    return [each.finding for each in findings(seen(*capacities))]


def changed(**fields: object) -> CSIStorageCapacity:
    return msgspec.structs.replace(published(), **fields)


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        pytest.param(published(), [], id="all-is-well"),
        pytest.param(published(largest="5Gi"), [], id="one-volume-of-all-the-room"),
        pytest.param(published(segment={ZONE: "z"}), [CapacityFinding.NODES_GONE], id="no-node"),
        pytest.param(published(class_name="gone"), [CapacityFinding.CLASS_GONE], id="no-class"),
        pytest.param(
            published(largest="6Gi"), [CapacityFinding.MAXIMUM_TOO_LARGE], id="largest-too-large"
        ),
        pytest.param(changed(capacity=None), [CapacityFinding.NO_NUMBER], id="no-number"),
        pytest.param(changed(capacity="much"), [CapacityFinding.UNREADABLE], id="no-quantity"),
        pytest.param(changed(node_topology=BROKEN), [CapacityFinding.UNREADABLE], id="no-selector"),
        pytest.param(changed(node_topology=None), [CapacityFinding.NODES_GONE], id="no-topology"),
        pytest.param(published(segment={TEMPLATE_NODE: "true"}), [], id="imagined-nodes"),
        pytest.param(in_pool(published(), Cost(), a=1), [], id="a-pool"),
        pytest.param(
            in_pool(published(), Cost(), a=-1),
            [CapacityFinding.POOLS_UNREADABLE],
            id="a-pool-that-makes-no-sense",
        ),
    ],
)
def test_what_can_be_wrong_with_an_object(
    capacity: CSIStorageCapacity, expected: list[CapacityFinding]
) -> None:
    assert codes(capacity) == expected


def test_a_class_that_describes_its_pool_badly_is_told_of() -> None:
    scene = observed(published())
    (storage_class,) = (each for each in scene.classes if each.name == "fast")
    annotations = {"plimsoll.dev/pool": "vg", "plimsoll.dev/pool-cost": "much"}
    metadata = msgspec.structs.replace(storage_class.metadata, annotations=annotations)
    changed_class = msgspec.structs.replace(storage_class, metadata=metadata)
    (found,) = findings(overview_of(replace(scene, classes=(changed_class,))))
    assert found.finding is CapacityFinding.POOLS_UNREADABLE
    assert found.sentence.startswith("class fast: annotation plimsoll.dev/pool-cost must be")


def test_a_driver_is_gone_when_it_has_no_object_and_no_node() -> None:
    scene = observed(published())
    assert findings(overview_of(replace(scene, drivers=()))) == []
    (found,) = findings(overview_of(replace(scene, drivers=(), csi_nodes=())))
    assert found.finding is CapacityFinding.DRIVER_GONE


def test_an_object_without_a_living_owner_is_told_of() -> None:
    scene = replace(observed(published(owners=["dead"])), missing_owners={"dead"})
    (found,) = findings(overview_of(scene))
    assert found.finding is CapacityFinding.OWNER_GONE


LONG_AGO = {"oldest-report": "2024-01-01T11:00:00Z"}


@pytest.mark.parametrize(
    ("lease", "expected"),
    [
        pytest.param(publisher_lease(1), [], id="looked-just-now"),
        pytest.param(publisher_lease(3), [CapacityFinding.STALE], id="has-not-looked"),
        pytest.param(
            publisher_lease(1, unanswered="2", **LONG_AGO),
            [CapacityFinding.UNANSWERED],
            id="looks-but-gets-no-answer",
        ),
        pytest.param(publisher_lease(1, unanswered="2"), [], id="no-answer-just-now"),
        pytest.param(
            publisher_lease(1, **LONG_AGO), [], id="a-driver-asked-long-ago-but-all-answered"
        ),
        pytest.param(a_lease("local-plimsoll-dev", 1), [], id="has-a-leader"),
        pytest.param(a_lease("local-plimsoll-dev", 9), [CapacityFinding.STALE], id="has-no-leader"),
        pytest.param(a_lease("something-else", 9), [], id="another-lease"),
    ],
)
def test_a_lease_tells_that_no_publisher_looks(
    lease: Lease, expected: list[CapacityFinding]
) -> None:
    found = findings(overview_of(replace(observed(published()), leases=[lease])))
    assert [each.finding for each in found] == expected


def test_two_objects_about_one_segment_repeat_or_contradict_each_other() -> None:
    assert codes(published("one"), published("two")) == [CapacityFinding.DUPLICATED] * 2
    assert codes(published("one"), published("two", gib=6)) == [CapacityFinding.CONTRADICTED] * 2
    assert (
        codes(published("one"), published("two", largest="1Gi"))
        == [CapacityFinding.CONTRADICTED] * 2
    )
    assert codes(published("one"), published("two", {ZONE: "b"}, gib=6)) == []


def test_two_segments_that_share_a_node_overlap() -> None:
    zonal, host = published("zonal"), published("host", {HOST: "n1"})
    found = findings(seen(zonal, host, published("other", {HOST: "n2"})))
    assert [(each.finding, each.about.name) for each in found] == [
        (CapacityFinding.OVERLAPS, "host"),
        (CapacityFinding.OVERLAPS, "zonal"),
    ]
    assert found[0].others == (zonal.key,)
    assert "n1" in found[0].sentence


def test_segments_of_different_classes_never_overlap() -> None:
    hers = published("host", {HOST: "n1"}, class_name="slow")
    assert CapacityFinding.OVERLAPS not in codes(published("zonal"), hers)


def test_selectors_that_are_not_plain_overlap_with_everything_they_meet() -> None:
    loose = [
        msgspec.structs.replace(published(name), node_topology=EXISTS) for name in ("one", "two")
    ]
    assert codes(*loose) == [CapacityFinding.OVERLAPS] * 2
