"""How pools are described, and what classes choose."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from plimsoll.processes.driver.backends.pools.options import (
    PoolSettings,
    layout_of,
    parse_pools,
)
from plimsoll.processes.driver.backends.protocol import BackendRequest
from plimsoll.processes.driver.settings import BackendSettings, NodeSettings, SetupError
from plimsoll.wire.csi.errors import CsiStatusError

SETTINGS = BackendSettings(
    driver_name="d.example", data_dir=Path("/nonexistent"), nodes=(NodeSettings(id="n"),)
)
POOLS = (
    PoolSettings(name="a", size_bytes=1, kind="fast"),
    PoolSettings(name="b", size_bytes=1, kind="fast"),
    PoolSettings(name="c", size_bytes=1, kind="slow"),
)


def a_request(**parameters: str) -> BackendRequest:
    return BackendRequest(parameters=parameters, mutable_parameters={}, mode=None, fs_type="")


def test_pools_are_read_with_full_keys_and_sorted() -> None:
    described = [
        {"name": "b", "size": "1Gi", "topology": [{"zone": "a"}, {"zone": "b"}]},
        {"name": "a", "size": 5 << 20, "topology": {"other.org/rack": "1"}, "latency": "50ms"},
        {"name": "c", "size": "0"},
    ]
    first, second, third = parse_pools({"pools": described}, SETTINGS)
    assert (first.size_bytes, first.topology) == (5 << 20, ({"other.org/rack": "1"},))
    assert first.latency == timedelta(milliseconds=50)
    key = "topology.d.example/zone"
    assert second.topology == ({key: "a"}, {key: "b"})
    assert third.topology == ()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pools": []},
        {"pools": [{"name": "a"}]},
        {"pools": [{"name": "a", "size": 5}]},
        {"pools": [{"name": "a", "size": "5"}]},
        {"pools": [{"name": "a", "size": "much"}]},
        {"pools": [{"name": "", "size": "1Gi"}]},
        {"pools": [{"name": "a", "size": "1Gi", "latency": "soon"}]},
        {"pools": [{"name": "a", "size": "1Gi", "colour": "red"}]},
        {"pools": [{"name": "a", "size": "1Gi"}] * 2},
        {"pools": [{"name": "a", "size": "1Gi", "minCopies": 2}]},
        {"volumeGroup": "vg"},
    ],
    ids=str,
)
def test_what_cannot_be_is_said(options: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match="pools"):
        parse_pools(options, SETTINGS)


@pytest.mark.parametrize(
    ("parameters", "pools", "domains"),
    [
        ({}, None, 1),
        ({"kind": "fast"}, ["a", "b"], 1),
        ({"pool": "c"}, ["c"], 1),
        ({"kind": "fast", "domains": "2"}, ["a", "b"], 2),
    ],
    ids=str,
)
def test_a_class_chooses_pools(
    parameters: dict[str, str], pools: list[str] | None, domains: int
) -> None:
    layout = layout_of(a_request(**parameters), POOLS)
    assert layout.domains == domains
    assert (None if layout.pools is None else sorted(layout.pools)) == pools


@pytest.mark.parametrize(
    "parameters",
    [
        {"colour": "red"},
        {"pool": "z"},
        {"pool": "a", "kind": "slow"},
        {"domains": "0"},
        {"domains": "9"},
        {"domains": "two"},
    ],
    ids=str,
)
def test_a_class_that_cannot_be_is_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(CsiStatusError, match="INVALID_ARGUMENT: parameters"):
        layout_of(a_request(**parameters), POOLS)


def test_the_levels_of_domains_are_the_usual_ones_that_pools_name() -> None:
    racks = [{"zone": "b", "rack": "1"}, {"zone": "b", "rack": "2"}]
    options = {"pools": [{"name": "p", "size": "1Gi", "topology": racks}]}
    (pool,) = parse_pools(options, SETTINGS)
    labels = [f"topology.d.example/serves.b.{rack}" for rack in "12"]
    assert pool.served_from == tuple({label: "true"} for label in labels)


def test_a_pool_whose_segments_are_of_no_level_is_served_by_no_label() -> None:
    options = {"pools": [{"name": "p", "size": "1Gi", "topology": {"host": "node-1"}}]}
    (pool,) = parse_pools(options, SETTINGS)
    assert pool.served_from == ()


def test_a_pool_has_one_copy_where_it_is_unless_it_says_more() -> None:
    key = "topology.d.example/zone"
    copies = [{"zone": "a"}, {"zone": "b"}, {"zone": "c"}]
    options = {
        "pools": [
            {"name": "one", "size": "1Gi", "topology": {"zone": "a"}},
            {"name": "three", "size": "1Gi", "topology": {"zone": "a"}, "copies": copies},
        ]
    }
    one, three = parse_pools(options, SETTINGS)
    assert (one.copies, one.min_copies) == (({key: "a"},), 1)
    assert (len(three.copies), three.min_copies) == (3, 2)


def test_a_class_may_ask_for_volumes_that_can_be_taken_over() -> None:
    options = {"pools": [{"name": "p", "size": "1Gi", "topology": {"zone": "a"}}]}
    pools = parse_pools(options, SETTINGS)
    label = "topology.d.example/serves.a"
    assert layout_of(a_request(reach="ServedDomain"), pools).served_from == {
        "p": ({label: "true"},)
    }
    assert layout_of(a_request(reach="Domain"), pools).served_from == {}
    with pytest.raises(CsiStatusError, match="write Anywhere or Domain or ServedDomain"):
        layout_of(a_request(reach="Nowhere"), pools)
