"""A class that describes its pool badly."""

import logging

import msgspec
import pytest

from plimsoll.api.storage import StorageClass
from plimsoll.decide.capacity.pools import CLASS_POOL, CLASS_POOL_COST
from plimsoll.processes.scheduler.class_pools import complain_of_class_pool
from tests.builders import a_class, a_node


def saying(cost: str) -> StorageClass:
    made = a_class("safe")
    annotations = {CLASS_POOL: "vg", CLASS_POOL_COST: cost}
    metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
    return msgspec.structs.replace(made, metadata=metadata)


def test_a_cost_that_makes_no_sense_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    complain_of_class_pool(None, saying("2"))
    complain_of_class_pool(None, a_node())
    assert not caplog.records
    complain_of_class_pool(saying("2"), saying("two"))
    complain_of_class_pool(saying("two"), saying("two"))
    complain_of_class_pool(saying("two"), None)
    (record,) = caplog.records
    assert record.getMessage() == "pool of class ignored"
    assert "plimsoll.dev/pool-cost must be a number" in vars(record)["error"]
