"""Numbers for nodes that the cluster autoscaler only imagines."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.typed import from_document
from plimsoll.decide.capacity.names import DRIVER_NAME, MANAGED_BY, TEMPLATE_NODE, TEMPLATES
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import CapacityAnswer, CapacitySettings
from plimsoll.decide.capacity.templates import NodeType, decide_templates, is_template
from plimsoll.decide.plan import NOTHING, Create, Delete, Patch, Plan
from tests.builders import DRIVER, ZONE, a_capacity

GIB = 2**30
NOW = datetime(2024, 1, 1, tzinfo=UTC)
SETTINGS = CapacitySettings(driver=DRIVER, publisher="external-provisioner", namespace="plimsoll")
BIG = NodeType(
    name="big",
    labels={"pool": "big"},
    capacity={"fast": CapacityAnswer(100 * GIB, 50 * GIB), "else": CapacityAnswer(1)},
)


def made(plan: Plan) -> list[CSIStorageCapacity]:
    return [
        from_document(CSIStorageCapacity, write.document)
        for write in plan.writes
        if isinstance(write, Create)
    ]


def decided(types: Iterable[NodeType], existing: Iterable[CSIStorageCapacity] = ()) -> Plan:
    return decide_templates(types, ["fast", "slow"], existing, SETTINGS)


def test_each_type_and_class_gets_an_object_for_imagined_nodes() -> None:
    (object_,) = made(decided([BIG]))
    topology = object_.node_topology
    assert topology is not None
    assert topology.match_labels == {TEMPLATE_NODE: "true", "pool": "big"}
    assert object_.labels == {DRIVER_NAME: DRIVER, MANAGED_BY: TEMPLATES}
    assert (object_.storage_class_name, object_.capacity) == ("fast", "100Gi")
    assert object_.maximum_volume_size == "50Gi"
    assert is_template(object_)


def test_what_is_right_is_left_alone() -> None:
    assert decided([BIG], made(decided([BIG]))) == NOTHING


def test_another_size_is_written() -> None:
    (existing,) = made(decided([BIG]))
    smaller = NodeType(name="big", labels={"pool": "big"}, capacity={"fast": CapacityAnswer(GIB)})
    (write,) = decided([smaller], [existing]).writes
    assert isinstance(write, Patch)
    assert write.patch == {"capacity": "1Gi", "maximumVolumeSize": None}


def test_a_type_that_left_the_table_loses_its_object() -> None:
    (existing,) = made(decided([BIG]))
    (write,) = decided([], [existing]).writes
    assert isinstance(write, Delete)
    assert write.key == existing.key


def test_objects_of_others_survive() -> None:
    by_hand = a_capacity(segment={TEMPLATE_NODE: "true"}, gib=1)
    (ours,) = made(decided([BIG]))
    labels = {DRIVER_NAME: "other.example.com", MANAGED_BY: TEMPLATES}
    metadata = msgspec.structs.replace(ours.metadata, labels=labels)
    others = msgspec.structs.replace(ours, metadata=metadata)
    assert decided([], [by_hand, others]) == NOTHING


def test_a_publisher_does_not_take_them_for_its_own() -> None:
    publisher = Publisher(SETTINGS)
    (object_,) = made(decided([BIG]))
    publisher.put_object(object_, NOW)
    assert publisher.decide_removals(NOW) == NOTHING


def test_an_ordinary_object_is_no_template() -> None:
    assert not is_template(a_capacity(segment={ZONE: "a"}, gib=1))
    assert not is_template(CSIStorageCapacity())
