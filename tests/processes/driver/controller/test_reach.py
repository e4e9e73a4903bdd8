from pathlib import Path

import pytest

from plimsoll.decide.annotations import PLACEMENT_REASON, PREFERRED_TOPOLOGY
from plimsoll.processes.driver.controller.requests import parse_create
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.binding import ClaimBinding, binding_metadata
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import (
    NAME,
    TWO_ZONES,
    ZONE,
    a_driver,
    create_request,
)

ANYWHERE = {"reach": "Anywhere"}
ROOMS = (
    {"name": "r1", "size": "1Gi", "topology": {"zone": "a", "rack": "1", "aisle": "9"}},
    {"name": "r2", "size": "1Gi", "topology": [{"zone": "a"}, {"zone": "b"}]},
)


async def test_a_volume_for_anywhere_tells_where_it_is_cheap() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=5, zones=["a", "b"], preferred=["b"], parameters=ANYWHERE)
        assert not volume.accessible_topology
        context = volume.volume_context
        assert context[PREFERRED_TOPOLOGY] == f'[{{"{ZONE}":"b"}}]'
        assert context[PLACEMENT_REASON] == "Pool b: near zone=b, which is preferred (1Gi free)."
        await running.attach(volume.volume_id, node="node-a")


async def test_it_goes_elsewhere_when_the_preferred_pool_is_full_and_says_so() -> None:
    async with a_driver(*TWO_ZONES) as running:
        await running.create("full", mib=1024, zones=["b"])
        volume = await running.create(mib=5, zones=["a", "b"], preferred=["b"], parameters=ANYWHERE)
        assert volume.volume_context[PREFERRED_TOPOLOGY] == f'[{{"{ZONE}":"a"}}]'
        reason = volume.volume_context[PLACEMENT_REASON]
        assert reason == "Pool a: no pool near zone=b has room (1Gi free)."


async def test_levels_are_in_the_order_in_which_the_pool_names_them() -> None:
    async with a_driver(*ROOMS) as running:
        parameters = {**ANYWHERE, "pool": "r1"}
        volume = await running.create(mib=5, parameters=parameters)
        levels = [f'{{"topology.{NAME}/{key}":"{value}"}}' for key, value in ROOMS_R1]
        assert volume.volume_context[PREFERRED_TOPOLOGY] == f"[{','.join(levels)}]"


ROOMS_R1 = (("zone", "a"), ("rack", "1"), ("aisle", "9"))


async def test_a_pool_of_several_segments_is_near_none_in_particular() -> None:
    async with a_driver(*ROOMS) as running:
        volume = await running.create(mib=5, parameters={**ANYWHERE, "pool": "r2"})
        assert PREFERRED_TOPOLOGY not in volume.volume_context
        assert volume.volume_context[PLACEMENT_REASON]


async def test_a_volume_of_a_domain_is_reachable_from_there_alone() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(mib=5, zones=["b"], parameters={"reach": "Domain"})
        assert [dict(each.segments) for each in volume.accessible_topology] == [{ZONE: "b"}]
        assert PREFERRED_TOPOLOGY not in volume.volume_context
        assert PLACEMENT_REASON in volume.volume_context


async def test_what_is_told_outlives_growth_and_the_process(tmp_path: Path) -> None:
    async with a_driver(*TWO_ZONES, directory=tmp_path) as running:
        volume = await running.create(mib=5, parameters=ANYWHERE)
        await running.expand(volume.volume_id, 10)
    async with a_driver(*TWO_ZONES, directory=tmp_path) as running:
        request = csi.ControllerGetVolumeRequest(volume_id=volume.volume_id)
        known = (await running.call(m.CONTROLLER_GET_VOLUME, request)).volume
        assert known.volume_context == volume.volume_context
        assert not known.accessible_topology


async def test_an_unknown_reach_is_refused() -> None:
    async with a_driver(*TWO_ZONES) as running:
        refused = await running.cannot_create(mib=5, parameters={"reach": "Everywhere"})
        assert refused is DriverFailure.REJECTED


@pytest.mark.parametrize(
    ("binding", "is_delayed"),
    [(ClaimBinding.DELAYED, True), (ClaimBinding.IMMEDIATE, False), (None, None)],
)
async def test_a_request_says_how_its_claim_is_bound(
    binding: ClaimBinding | None, *, is_delayed: bool | None
) -> None:
    metadata = {} if binding is None else binding_metadata(binding)
    async with a_driver() as running:
        features = running.driver.backend.features
        wanted = parse_create(create_request("data", mib=5), features, metadata)
        assert wanted.is_delayed is is_delayed
