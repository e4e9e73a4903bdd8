import msgspec
import numpy as np
import pytest

from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologyTermSpec
from plimsoll.api.storage import CSIDriver, CSINode, StorageClass
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.rules.volume_binding.provisioning_columns import (
    ProvisioningColumns,
    ProvisioningQuery,
)
from tests.builders import (
    DRIVER,
    HOSTNAME,
    ZONE,
    a_capacity,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    meta,
)

GIB = 2**30
AT_FIRST = np.array([0], np.intp)


def blocked(columns: Columns, size: int = 5 * GIB) -> int:
    return int(
        ProvisioningColumns(columns).blocked(
            ProvisioningQuery("fast", size, is_sized=True), AT_FIRST
        )[0]
    )


@pytest.mark.parametrize(
    ("gib", "expected"),
    [
        pytest.param(10, 0, id="room"),
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
    found = provisioning.capacities(request, AT_FIRST)
    assert found is not None
    assert found.tolist() == [9 * GIB]
