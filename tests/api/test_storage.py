import pytest

from plimsoll.api.storage import CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.typed import decode, from_document
from tests.builders import DRIVER, a_capacity, a_class, a_csi_node


@pytest.mark.parametrize("prefix", ["storageclass", "storageclass.beta"])
def test_a_class_is_default_when_annotated_so(prefix: str) -> None:
    annotations = {f"{prefix}.kubernetes.io/is-default-class": "true"}
    assert from_document(StorageClass, {"metadata": {"annotations": annotations}}).is_default
    assert not a_class().is_default


def test_a_class_waits_for_a_consumer_only_if_it_says_so() -> None:
    assert a_class(binding_mode="WaitForFirstConsumer").waits_for_consumer
    assert not StorageClass().waits_for_consumer


def test_a_node_knows_its_drivers_by_name() -> None:
    driver = a_csi_node().find_driver(DRIVER)
    assert driver is not None
    assert driver.node_id == "node-1"
    assert a_csi_node().find_driver("other") is None


def test_a_node_without_drivers_is_written_with_null() -> None:
    assert decode(CSINode, b'{"spec":{"drivers":null}}').find_driver(DRIVER) is None


def test_capacity_that_is_not_reported_is_not_zero() -> None:
    assert a_capacity(segment={}, gib=5).capacity_bytes == 5 * 2**30
    assert CSIStorageCapacity().capacity_bytes is None
    assert CSIStorageCapacity().maximum_volume_bytes is None
    assert CSIStorageCapacity(maximum_volume_size="1Ki").maximum_volume_bytes == 1024
