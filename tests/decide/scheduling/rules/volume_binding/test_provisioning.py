import msgspec
import numpy as np
import pytest

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologyTermSpec
from plimsoll.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject, Sentence, Undecided
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import (
    DynamicProvision,
    ProvisioningColumns,
    ProvisioningQuery,
    judge_provisioning,
)
from tests.builders import (
    DRIVER,
    HOSTNAME,
    ZONE,
    a_capacity,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    meta,
)
from tests.decide.scheduling.builders import GIB, a_cluster, a_local_class

NODE = a_node(labels={ZONE: "a"})


def found(*objects: ApiObject, gib: int = 5) -> Finding:
    result = judge_provisioning(a_claim(gib=gib), NODE, a_cluster(*objects))
    assert isinstance(result, Finding)
    return result


def capacity_of(*objects: ApiObject, gib: int = 5) -> CSIStorageCapacity | None:
    result = judge_provisioning(a_claim(gib=gib), NODE, a_cluster(*objects))
    assert isinstance(result, DynamicProvision)
    return result.capacity


def only_in(storage_class: StorageClass, zone: str) -> StorageClass:
    label = TopologyLabelSpec(key=ZONE, values=(zone,))
    terms = (TopologyTermSpec(match_label_expressions=(label,)),)
    return msgspec.structs.replace(storage_class, allowed_topologies=terms)


def test_a_driver_that_keeps_no_account_is_trusted() -> None:
    assert capacity_of(a_class()) is None
    relaxed = msgspec.structs.replace(a_driver(), spec=type(a_driver().spec)())
    assert capacity_of(a_class(), relaxed) is None


def test_the_first_segment_with_room_is_taken() -> None:
    roomy = a_capacity("roomy", segment={ZONE: "a"}, gib=5)
    objects = (a_class(), a_driver(), a_capacity("full", segment={ZONE: "a"}, gib=4), roomy)
    assert capacity_of(*objects) == roomy


def test_the_largest_volume_counts_not_the_sum_of_holes() -> None:
    fragmented = msgspec.structs.replace(
        a_capacity(segment={ZONE: "a"}, gib=100), maximum_volume_size="4Gi"
    )
    finding = found(a_class(), a_driver(), fragmented)
    assert finding == Finding(
        reason=Reason.CAPACITY_TOO_SMALL,
        sentence=Sentence.NO_SPACE,
        claim=ObjectKey("default", "data"),
        about=SeenObject("CSIStorageCapacity", ObjectKey("plimsoll", "capacity-1")),
        wanted=5 * GIB,
        seen=4 * GIB,
    )


def without_number(capacity: CSIStorageCapacity) -> CSIStorageCapacity:
    return msgspec.structs.replace(capacity, capacity=None)


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param((), Reason.NO_CAPACITY_PUBLISHED, id="nothing-published"),
        pytest.param(
            (a_capacity(segment={ZONE: "b"}, gib=9),), Reason.NO_CAPACITY_PUBLISHED, id="elsewhere"
        ),
        pytest.param((a_capacity(segment={ZONE: "a"}, gib=0),), Reason.CAPACITY_ZERO, id="zero"),
        pytest.param(
            (without_number(a_capacity(segment={ZONE: "a"}, gib=0)),),
            Reason.NO_CAPACITY_PUBLISHED,
            id="without-a-number",
        ),
        pytest.param(
            (
                without_number(a_capacity("one", segment={ZONE: "a"}, gib=0)),
                a_capacity("two", segment={ZONE: "a"}, gib=0),
            ),
            Reason.CAPACITY_ZERO,
            id="zero-beside-one-without-a-number",
        ),
        pytest.param(
            (a_capacity(segment={"rack": "r1"}, gib=9),),
            Reason.TOPOLOGY_KEY_MISSING,
            id="node-without-the-label",
        ),
        pytest.param(
            (a_csi_node(driver="other"),), Reason.DRIVER_NOT_ON_NODE, id="driver-not-installed"
        ),
    ],
)
def test_missing_room_is_explained(objects: tuple[ApiObject, ...], reason: Reason) -> None:
    finding = found(a_class(), a_driver(), *objects)
    assert (finding.reason, finding.sentence) == (reason, Sentence.NO_SPACE)


def test_capacity_for_no_node_or_for_unreadable_nodes_helps_no_pod() -> None:
    nowhere = msgspec.structs.replace(a_capacity(segment={}, gib=9), node_topology=None)
    broken = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="x", operator="Gt"),))
    unreadable = msgspec.structs.replace(nowhere, node_topology=broken)
    everywhere = a_capacity(segment={}, gib=9)
    objects = (a_class(), a_driver())
    assert found(*objects, nowhere).sentence == Sentence.NO_SPACE
    assert found(*objects, unreadable).sentence == Sentence.NO_SPACE
    assert capacity_of(*objects, everywhere) == everywhere


def test_a_class_keeps_to_the_places_it_allows() -> None:
    assert capacity_of(only_in(a_class(), "a")) is None
    finding = found(only_in(a_class(), "b"))
    assert finding.reason is Reason.OUTSIDE_ALLOWED_TOPOLOGIES
    assert finding.sentence == Sentence.NO_VOLUME


def test_no_volume_is_provisioned_for_a_class_without_a_provisioner() -> None:
    finding = found(a_local_class())
    assert (finding.reason, finding.wanted) == (Reason.NO_MATCHING_VOLUME, 5 * GIB)


def test_without_its_class_nothing_can_be_said() -> None:
    with pytest.raises(Undecided, match='failed to find storage class "fast"'):
        judge_provisioning(a_claim(), NODE, a_cluster())


AT_FIRST = np.array([0], np.intp)


def blocked(columns: Columns, size: int = 5 * GIB) -> int:
    query = ProvisioningQuery("fast", size, is_sized=True)
    flags = ProvisioningColumns(columns).judge(query, AT_FIRST).flags
    return 0 if flags is None else int(flags[0])


@pytest.mark.parametrize(
    ("gib", "expected"),
    [
        pytest.param(10, 0, id="enough"),
        pytest.param(5, 0, id="just-enough"),
        pytest.param(4, Blocked.DELAYED_TOO_SMALL, id="too-small"),
        pytest.param(0, Blocked.DELAYED_ZERO, id="nothing-left"),
    ],
)
def test_the_published_capacity_decides(gib: int, expected: int) -> None:
    capacity = a_capacity(segment={HOSTNAME: "node-1"}, gib=gib)
    columns = Columns.of([a_node(), a_class(), a_driver(), capacity])

    assert blocked(columns) == expected


def test_an_object_without_a_number_publishes_nothing() -> None:
    capacity = a_capacity(segment={HOSTNAME: "node-1"}, gib=9)
    silent = msgspec.structs.replace(capacity, capacity=None)
    columns = Columns.of([a_node(), a_class(), a_driver(), silent])

    assert blocked(columns) == Blocked.DELAYED_UNPUBLISHED
    assert blocked(columns, size=0) == Blocked.DELAYED_UNPUBLISHED


def test_why_nothing_was_published_for_a_node() -> None:
    columns = Columns.of([a_node(), a_class(), a_driver()])
    assert blocked(columns) == Blocked.DELAYED_UNPUBLISHED
    columns.put(a_capacity(segment={ZONE: "a"}, gib=10))
    assert blocked(columns) == Blocked.DELAYED_NO_SEGMENT
    columns.put(CSINode(metadata=meta("node-1")))
    assert blocked(columns) == Blocked.DELAYED_DRIVER
    columns.put(a_csi_node("node-1"))
    columns.put(a_node(labels={ZONE: "b"}))
    assert blocked(columns) == Blocked.DELAYED_UNPUBLISHED
    columns.put(a_node(labels={ZONE: "a"}))
    assert blocked(columns) == 0


def test_a_driver_that_keeps_no_account_can_always_make_volumes() -> None:
    columns = Columns.of([a_node(), a_class(), CSIDriver(metadata=meta(DRIVER))])

    assert blocked(columns) == 0


def test_a_class_without_provisioner_makes_none() -> None:
    columns = Columns.of([a_node(), a_class(provisioner="kubernetes.io/no-provisioner")])

    assert blocked(columns) == Blocked.DELAYED_NO_VOLUME


def test_a_class_makes_volumes_only_where_it_is_allowed_to() -> None:
    label = TopologyLabelSpec(key=ZONE, values=("a",))
    class_ = StorageClass(
        metadata=meta("fast"),
        provisioner=DRIVER,
        allowed_topologies=(TopologyTermSpec(match_label_expressions=(label,)),),
    )
    columns = Columns.of([a_node(labels={ZONE: "a"}), class_])
    assert blocked(columns) == 0
    columns.put(a_node(labels={ZONE: "b"}))
    assert blocked(columns) == Blocked.DELAYED_TOPOLOGY
    columns.put(a_node())
    assert blocked(columns) == Blocked.DELAYED_NO_TOPOLOGY


def test_the_first_capacity_with_room_is_the_one_that_is_charged() -> None:
    capacities = [
        a_capacity(name, segment={}, gib=gib) for name, gib in (("a", 1), ("b", 9), ("c", 20))
    ]
    columns = Columns.of([a_node(), a_class(), a_driver(), *capacities])
    provisioning = ProvisioningColumns(columns)
    request = ProvisioningQuery("fast", 5 * GIB, is_sized=True)

    assert provisioning.find_capacity(request, 0) == capacities[1]
    found = provisioning.judge(request, AT_FIRST).capacities
    assert found is not None
    assert found.tolist() == [9 * GIB]
