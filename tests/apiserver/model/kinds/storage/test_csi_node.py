from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.csi_node import RULES
from tests.apiserver.model.kinds.storage.objects import causes


def a_csi_node(*drivers: Document) -> Document:
    return {"metadata": {"name": "node-1"}, "spec": {"drivers": list(drivers)}}


def a_driver(**fields: Any) -> Document:
    return {"name": "d.example.com", "nodeID": "n1", "topologyKeys": ["zone"]} | fields


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"name": ""}, ("Required", "spec.drivers[0].name")),
        ({"nodeID": ""}, ("Required", "spec.drivers[0].nodeID")),
        ({"nodeID": "x" * 257}, ("Invalid", "spec.drivers[0].nodeID")),
        ({"allocatable": {"count": -1}}, ("Invalid", "spec.drivers[0].allocatable.count")),
        ({"topologyKeys": ["a", "a"]}, ("Duplicate", "spec.drivers[0]")),
        ({"topologyKeys": ["a b"]}, ("Invalid", "spec.drivers[0]")),
    ],
)
def test_a_wrong_driver_is_refused(fields: Document, complaint: tuple[str, str]) -> None:
    assert list(causes(RULES.validate(a_csi_node(a_driver(**fields))))) == [complaint]


def test_a_driver_is_listed_once() -> None:
    twice = a_csi_node(a_driver(), a_driver())

    assert list(causes(RULES.validate(twice))) == [("Duplicate", "spec.drivers[1].name")]


@pytest.mark.parametrize("fields", [{"nodeID": "n2"}, {"topologyKeys": ["zone", "host"]}])
def test_a_driver_that_stays_keeps_its_place(fields: Document) -> None:
    before, after = a_csi_node(a_driver()), a_csi_node(a_driver(**fields))

    assert list(causes(RULES.validate_update(after, before))) == [("Invalid", "spec.drivers")]


def test_drivers_come_and_go_and_take_more_or_fewer_volumes() -> None:
    before = a_csi_node(a_driver(), a_driver(name="old.example.com"))
    after = a_csi_node(a_driver(allocatable={"count": 5}), a_driver(name="new.example.com"))

    assert not list(RULES.validate_update(after, before))
