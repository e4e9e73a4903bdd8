"""What is reported can be had, and no more."""

import asyncio
from typing import Any

from hypothesis import example, given, settings, strategies as st

from plimsoll.processes.driver.backends.pools.faults import Lie
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from tests.processes.driver.drivers import MIB, ONE_POOL, TWO_ZONES, ZONE, Running, a_driver

FULL = DriverFailure.OUT_OF_CAPACITY
SEGMENTS: tuple[list[dict[str, str]], ...] = (
    [{"zone": "a"}],
    [{"zone": "b"}],
    [{"zone": "c"}],
    [{"zone": "a"}, {"zone": "b"}],
    [],
)
some_pools = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(SEGMENTS)), min_size=1, max_size=5
)
some_volumes = st.lists(
    st.tuples(st.integers(1, 25), st.sampled_from(["", "a", "b"]), st.booleans()), max_size=6
)


async def test_an_empty_pool_has_all_of_its_room() -> None:
    async with a_driver() as running:
        capacity = await running.capacity()
        assert capacity.available_capacity == 1024 * MIB
        assert capacity.maximum_volume_size.value == 1024 * MIB
        assert capacity.minimum_volume_size.value == MIB


async def test_room_is_told_of_the_segment_asked_for() -> None:
    regional = {
        "name": "both",
        "size": "2Gi",
        "topology": [{"zone": "a"}, {"zone": "b"}],
    }
    async with a_driver(*TWO_ZONES, regional) as running:
        await running.create(mib=100, zones=["a"], parameters={"pool": "a"})
        in_a, in_c = await running.capacity("a"), await running.capacity("c")
        assert in_a.available_capacity == (2048 + 924) * MIB
        assert in_a.maximum_volume_size.value == 2048 * MIB
        assert (in_c.available_capacity, in_c.maximum_volume_size.value) == (0, 0)


async def test_room_depends_on_the_parameters() -> None:
    async with a_driver(*TWO_ZONES) as running:
        both = await running.capacity(parameters={"domains": "2"})
        assert (both.available_capacity, both.maximum_volume_size.value) == (1024 * MIB,) * 2
        alone = await running.capacity(parameters={"pool": "a"})
        assert alone.available_capacity == 1024 * MIB
        three = await running.capacity(parameters={"domains": "3"})
        assert three.maximum_volume_size.value == 0


async def test_unknown_parameters_are_refused() -> None:
    async with a_driver() as running:
        request = csi.GetCapacityRequest(parameters={"colour": "red"})
        assert await running.refused(m.GET_CAPACITY, request) is DriverFailure.REJECTED


async def test_pools_tell_what_they_share_and_what_classes_cost() -> None:
    async with a_driver(*TWO_ZONES) as running:
        await running.create(mib=24, zones=["a"])
        request = pools_pb2.ListPoolsRequest(
            classes=[
                pools_pb2.StorageClass(name="any"),
                pools_pb2.StorageClass(name="here", parameters={"pool": "a"}),
                pools_pb2.StorageClass(name="foreign", parameters={"colour": "red"}),
            ]
        )
        first, second = (await running.call(m.LIST_POOLS, request)).pools
        assert dict(first.accessible_topology[0].segments) == {ZONE: "a"}
        assert (first.total_bytes, first.free_extents[0].free_bytes) == (1024 * MIB, 1000 * MIB)
        assert [cost.class_name for cost in first.costs] == ["any", "here"]
        assert [cost.class_name for cost in second.costs] == ["any"]
        assert (first.costs[0].copies, first.costs[0].unit_bytes) == (1, MIB)


async def test_only_the_pools_of_a_segment_are_listed_where_that_is_asked_for() -> None:
    async with a_driver(*TWO_ZONES) as running:
        request = pools_pb2.ListPoolsRequest(accessible_topology=csi.Topology(segments={ZONE: "b"}))
        (only,) = (await running.call(m.LIST_POOLS, request)).pools
        assert dict(only.accessible_topology[0].segments) == {ZONE: "b"}


async def test_a_lie_about_room_is_told_but_gives_none() -> None:
    async with a_driver() as running:
        running.backend.faults.set(Lie(factor=2, offset="5Mi"))
        capacity = await running.capacity()
        assert capacity.maximum_volume_size.value == 2053 * MIB
        assert await running.cannot_create(mib=2053) is FULL
        await running.create(mib=1024)
        assert await running.cannot_create("more", mib=1) is FULL
        running.backend.faults.set(Lie(factor=0))
        assert (await running.capacity()).available_capacity == 0


async def _make_all(running: Running, volumes: list[tuple[int, str, bool]]) -> None:
    for number, (size, zone, spans) in enumerate(volumes):
        wanted: dict[str, Any] = {"parameters": {"domains": "2"}} if spans else {}
        request = running.create(f"data-{number}", mib=size, zones=[zone] if zone else [], **wanted)
        await asyncio.gather(request, return_exceptions=True)


async def _check(running: Running, zone: str, parameters: dict[str, str]) -> None:
    capacity = await running.capacity(zone, parameters)
    largest = capacity.maximum_volume_size.value // MIB
    where: dict[str, Any] = {"zones": [zone] if zone else [], "parameters": parameters}
    assert await running.cannot_create("too-large", mib=largest + 1, **where) is FULL
    made = 0
    while size := (await running.capacity(zone, parameters)).maximum_volume_size.value:
        await running.create(f"largest-{made}", mib=size // MIB, **where)
        made += size
    assert made == capacity.available_capacity


@example(
    pools=[(1, SEGMENTS[place]) for place in (1, 2, 0, 0)],
    volumes=[],
    zone="",
    domains={"domains": "2"},
)
@given(
    pools=some_pools,
    volumes=some_volumes,
    zone=st.sampled_from(["", "a", "b", "c", "d"]),
    domains=st.sampled_from([{}, {"domains": "2"}]),
)
@settings(deadline=None)
def test_what_is_reported_can_then_be_made_and_no_more(
    pools: list[tuple[int, list[dict[str, str]]]],
    volumes: list[tuple[int, str, bool]],
    zone: str,
    domains: dict[str, str],
) -> None:
    described = [
        {"name": f"pool-{place}", "size": f"{size}Mi", "topology": segments}
        for place, (size, segments) in enumerate(pools)
    ]

    async def story() -> None:
        async with a_driver(*described) as running:
            await _make_all(running, volumes)
            await _check(running, zone, domains)

    asyncio.run(story())


async def test_other_pools_do_not_count_for_a_pool_by_name() -> None:
    async with a_driver(*ONE_POOL, {"name": "other", "size": "5Gi", "kind": "slow"}) as running:
        slow = await running.capacity(parameters={"kind": "slow"})
        assert slow.available_capacity == 5 * 1024 * MIB
