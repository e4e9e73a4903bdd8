"""What capacity objects and classes say about pools."""

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.storage import StorageClass
from plimsoll.decide.capacity.pools import (
    CLASS_POOL,
    CLASS_POOL_COST,
    MAX_TEXT,
    POOLS,
    ClassPool,
    ListedPool,
    PublishedPool,
    find_class_pool,
    find_pools,
    parse_class_pool,
    parse_pools,
    pools_text,
    reaching,
)
from plimsoll.decide.capacity.volume_sizes import Cost
from tests.builders import ZONE, a_class

sizes = st.integers(0, 2**63 - 1)
costs = st.builds(
    Cost,
    copies=st.integers(1, 9),
    shares=st.integers(0, 9),
    unit_bytes=st.integers(1, 2**30),
    overhead_bytes=st.integers(0, 2**30),
    minimum_bytes=st.integers(0, 2**30),
)
pools = st.builds(
    PublishedPool,
    name=st.text("abc/", min_size=1, max_size=5),
    free=st.dictionaries(st.text("xyz", max_size=3), sizes, max_size=4),
    cost=costs,
)


@given(told=st.lists(pools, max_size=4, unique_by=lambda pool: pool.name))
def test_what_is_written_is_read_again(told: list[PublishedPool]) -> None:
    text = pools_text(told)
    assert text is not None
    assert parse_pools(text) == tuple(sorted(told, key=lambda pool: pool.name))
    assert pools_text(reversed(told)) == text


def test_pools_that_would_fill_an_object_are_not_written() -> None:
    many = [PublishedPool(name=f"pool-{n}", free={"disk": n}, cost=Cost()) for n in range(1000)]
    assert pools_text(many) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("nonsense", id="no-json"),
        pytest.param('{"name": "p"}', id="no-list"),
        pytest.param('[{"name": "p"}]', id="no-extents"),
        pytest.param('[{"name": "", "free": {}}]', id="no-name"),
        pytest.param('[{"name": "p", "free": {"e": -1}}]', id="negative"),
        pytest.param('[{"name": "p", "free": {"e": 9223372036854775808}}]', id="too-large"),
        pytest.param('[{"name": "p", "free": {"e": "1Gi"}}]', id="a-text"),
        pytest.param('[{"name": "p", "free": {}, "cost": {"copies": 0}}]', id="free-of-charge"),
        pytest.param('[{"name": "p", "free": {}, "cost": {"shares": -1}}]', id="minus-one-share"),
        pytest.param('[{"name": "p", "free": {}}, {"name": "p", "free": {}}]', id="twice"),
        pytest.param("[" + " " * MAX_TEXT + "]", id="too-long"),
    ],
)
def test_nonsense_on_an_object_is_refused_and_ignored(text: str) -> None:
    with pytest.raises(ValueError, match=POOLS):
        parse_pools(text)
    assert find_pools({POOLS: text}) is None


def saying(**annotations: str) -> StorageClass:
    made = a_class("mirrored")
    named = {f"plimsoll.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    metadata = msgspec.structs.replace(made.metadata, annotations=named)
    return msgspec.structs.replace(made, metadata=metadata)


@pytest.mark.parametrize(
    ("cost", "taken", "free"),
    [
        pytest.param("1", 7, 10, id="plain"),
        pytest.param("2", 14, 20, id="mirrored"),
        pytest.param("1.5", 11, 15, id="four-disks-and-two-for-parity"),
        pytest.param("0.5", 4, 5, id="compressed"),
    ],
)
def test_a_class_may_name_its_pool_and_cost(cost: str, taken: int, free: int) -> None:
    found = parse_class_pool(saying(pool="vg", pool_cost=cost))
    assert found is not None
    assert (found.name, found.taken(7), found.free(10)) == ("vg", taken, free)


def test_a_class_without_a_cost_takes_what_its_volumes_have() -> None:
    assert parse_class_pool(saying(pool="vg")) == ClassPool("vg")
    assert parse_class_pool(saying()) is None


@pytest.mark.parametrize(
    "cost", ["", "0", "-1", "two", "1e3", "1.", ".5", "1001", "1/2", "٢", "nan"]
)
def test_a_cost_that_makes_no_sense_is_refused_and_ignored(cost: str) -> None:
    nonsense = saying(pool="vg", pool_cost=cost)
    with pytest.raises(ValueError, match=f"class mirrored: annotation {CLASS_POOL_COST}"):
        parse_class_pool(nonsense)
    assert find_class_pool(nonsense) is None


@pytest.mark.parametrize(
    "nonsense",
    [saying(pool_cost="2"), saying(pool=""), saying(pool="x" * 254)],
    ids=["a-cost-alone", "empty", "too-long"],
)
def test_a_pool_without_a_usable_name_is_refused(nonsense: StorageClass) -> None:
    with pytest.raises(ValueError, match=f"class mirrored: annotation {CLASS_POOL} must"):
        parse_class_pool(nonsense)


def test_pools_are_found_by_the_segments_that_reach_them() -> None:
    def listed(name: str, *segments: dict[str, str]) -> ListedPool:
        return ListedPool(name=name, free={}, cost=Cost(), topology=segments)

    known = [
        listed("here", {ZONE: "a"}),
        listed("both", {ZONE: "b"}, {ZONE: "a"}),
        listed("there", {ZONE: "b"}),
        listed("anywhere"),
        listed("rack", {ZONE: "a", "rack": "1"}),
    ]
    found = [pool.name for pool in reaching({ZONE: "a"}, known)]
    assert found == ["here", "both", "anywhere", "rack"]
