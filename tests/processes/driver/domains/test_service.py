"""Fenced domains: what is refused there, what callers are told, and what survives a restart."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.processes.driver.domains.protocol import DomainBackend
from plimsoll.processes.driver.records import FencePhase
from plimsoll.runtime.clock import settle
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.epochs import epoch_metadata
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from plimsoll.wire.csi.transport import Metadata
from tests.processes.driver.drivers import (
    NAME,
    TWO_ZONES,
    ZONE,
    Running,
    a_driver,
    attach_request,
    capability,
)

SERVES_A = f"topology.{NAME}/serves.a"
SERVED = {"reach": "ServedDomain"}


def zone(name: str) -> csi.Topology:
    return csi.Topology(segments={ZONE: name})


async def fence(running: Running, name: str = "a") -> None:
    await running.call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=zone(name)))


async def release(running: Running, name: str = "a") -> None:
    await running.call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=zone(name)))


async def domain(running: Running, name: str = "a") -> pb.Domain:
    request = pb.GetDomainRequest(domain=zone(name))
    return (await running.call(m.GET_DOMAIN, request)).domain


async def listed(running: Running) -> list[Mapping[str, str]]:
    answer = await running.call(m.LIST_DOMAINS, pb.ListDomainsRequest())
    return [dict(each.domain.segments) for each in answer.domains]


async def stage(running: Running, volume: str) -> None:
    await running.call(m.NODE_STAGE_VOLUME, stage_request(volume))


def stage_request(volume: str) -> csi.NodeStageVolumeRequest:
    return csi.NodeStageVolumeRequest(
        volume_id=volume, staging_target_path="/staging", volume_capability=capability()
    )


def publish_request(volume: str) -> csi.NodePublishVolumeRequest:
    return csi.NodePublishVolumeRequest(
        volume_id=volume,
        staging_target_path="/staging",
        target_path="/target",
        volume_capability=capability(),
    )


async def test_a_node_in_a_fenced_domain_gets_no_volume() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(zones=["a"], mib=16)
        await running.attach(volume.volume_id)
        await fence(running)
        other = await running.create("other", zones=["a"], mib=16)
        request = attach_request(other.volume_id)
        assert await running.refused(m.CONTROLLER_PUBLISH_VOLUME, request) == (
            DriverFailure.WRONG_STATE
        )
        assert await running.refused(m.NODE_STAGE_VOLUME, stage_request(volume.volume_id)) == (
            DriverFailure.WRONG_STATE
        )


async def test_a_node_outside_of_it_goes_on() -> None:
    async with a_driver(*TWO_ZONES) as running:
        await fence(running, "b")
        volume = await running.create(zones=["a"], mib=16)
        await running.attach(volume.volume_id)
        await stage(running, volume.volume_id)
        await running.call(m.NODE_PUBLISH_VOLUME, publish_request(volume.volume_id))


async def test_what_a_fenced_node_has_mounted_becomes_read_only_and_writable_again() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(zones=["a"], mib=16)
        await running.attach(volume.volume_id)
        await stage(running, volume.volume_id)
        await running.call(m.NODE_PUBLISH_VOLUME, publish_request(volume.volume_id))
        assert await can_write(running)
        await fence(running)
        assert not await can_write(running)
        await release(running)
        assert await can_write(running)


async def test_a_volume_that_was_detached_meanwhile_stays_read_only_until_it_is_attached() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(zones=["a"], mib=16, parameters=SERVED)
        await running.attach(volume.volume_id)
        await stage(running, volume.volume_id)
        await fence(running)
        await running.detach(volume.volume_id)
        await running.attach(volume.volume_id, "node-b")
        await release(running)
        assert not await can_write(running)
        await running.detach(volume.volume_id, "node-b")
        await running.attach(volume.volume_id)
        await stage(running, volume.volume_id)
        assert await can_write(running)


async def can_write(running: Running) -> bool:
    """Whether the first node can write to any volume."""
    (node,) = running.driver.fenced_nodes
    return any(map(node.can_write, running.driver.ledger.volumes.all()))


async def test_a_fence_and_its_end_can_be_repeated() -> None:
    async with a_driver(*TWO_ZONES) as running:
        await release(running)
        await fence(running)
        await fence(running)
        assert (await domain(running)).fenced
        assert await listed(running) == [{ZONE: "a"}]
        await release(running)
        await release(running)
        assert not (await domain(running)).fenced
        assert await listed(running) == []


async def test_only_a_fence_that_has_come_to_its_end_is_confirmed_and_none_is_begun() -> None:
    confirm = pb.ConfirmFenceRequest(domain=zone("a"))
    async with a_driver(*TWO_ZONES) as running:
        assert await running.refused(m.CONFIRM_FENCE, confirm) == DriverFailure.WRONG_STATE
        assert await listed(running) == []
        for phase in (FencePhase.FENCING, FencePhase.RELEASING):
            running.driver.fences.record({ZONE: "a"}, phase)
            with pytest.raises(DriverError, match=f"domain {ZONE}=a: it is not fenced"):
                await running.call(m.CONFIRM_FENCE, confirm)
            assert [each.phase for each in running.driver.fences.all()] == [phase]
        await fence(running)
        await running.call(m.CONFIRM_FENCE, confirm)
        await running.call(m.CONFIRM_FENCE, confirm)
        assert (await domain(running)).fenced
        nowhere = pb.ConfirmFenceRequest()
        assert await running.refused(m.CONFIRM_FENCE, nowhere) == DriverFailure.REJECTED


def led_by(transitions: int) -> Metadata:
    """What the leader of that number adds to its calls."""
    made = datetime(2030, 1, 31, tzinfo=UTC)
    return epoch_metadata(LeaderEpoch(lease="ns/l", lease_created_at=made, transitions=transitions))


async def test_a_former_leader_ends_no_fence_that_the_next_one_has_confirmed() -> None:
    release_a = pb.ReleaseDomainRequest(domain=zone("a"))
    confirm = pb.ConfirmFenceRequest(domain=zone("a"))
    async with a_driver(*TWO_ZONES) as running:
        client = running.client
        await client.call(
            m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=zone("a")), metadata=led_by(3)
        )
        await client.call(m.CONFIRM_FENCE, confirm, metadata=led_by(4))
        with pytest.raises(DriverError) as refused:
            await client.call(m.RELEASE_DOMAIN, release_a, metadata=led_by(3))
        assert refused.value.failure is DriverFailure.SUPERSEDED
        assert (await domain(running)).fenced
        with pytest.raises(DriverError) as refused:
            await client.call(m.CONFIRM_FENCE, confirm, metadata=led_by(3))
        assert refused.value.failure is DriverFailure.SUPERSEDED


async def test_no_fence_is_confirmed_while_it_is_being_ended() -> None:
    """The former leader's call was let in before the driver knew the next one."""
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(zones=["a"], mib=16)
        await fence(running)
        async with running.driver.turn(volume.volume_id):
            ending = asyncio.create_task(release(running))
            await settle()
            confirm = pb.ConfirmFenceRequest(domain=zone("a"))
            assert await running.refused(m.CONFIRM_FENCE, confirm) == DriverFailure.BUSY
        await ending
        assert await running.refused(m.CONFIRM_FENCE, confirm) == DriverFailure.WRONG_STATE


async def test_a_fence_survives_a_restart(tmp_path: Any) -> None:
    async with a_driver(*TWO_ZONES, directory=tmp_path) as running:
        await fence(running)
    async with a_driver(*TWO_ZONES, directory=tmp_path) as running:
        assert (await domain(running)).fenced
        volume = await running.create(zones=["a"], mib=16)
        request = attach_request(volume.volume_id)
        assert await running.refused(m.CONTROLLER_PUBLISH_VOLUME, request) == (
            DriverFailure.WRONG_STATE
        )


async def test_a_domain_tells_which_pools_have_how_many_copies_in_it() -> None:
    pools = (
        {
            "name": "spread",
            "size": "1Gi",
            "topology": {"zone": "a"},
            "copies": [{"zone": "a"}, {"zone": "a"}, {"zone": "b"}],
            "minCopies": 1,
        },
        {"name": "single", "size": "1Gi", "topology": {"zone": "a"}},
        {"name": "elsewhere", "size": "1Gi", "topology": {"zone": "b"}},
    )
    async with a_driver(*pools) as running:
        assert isinstance(running.backend, DomainBackend)
        found = await domain(running)
        assert [(p.name, p.size, p.min_size, p.inside) for p in found.pools] == [
            ("single", 1, 1, 1),
            ("spread", 3, 1, 2),
        ]
        assert found.storage == pb.Domain.UP
        assert found.nodes == pb.Domain.UNKNOWN


async def test_a_domain_has_to_be_named() -> None:
    async with a_driver(*TWO_ZONES) as running:
        request = pb.FenceDomainRequest()
        assert await running.refused(m.FENCE_DOMAIN, request) == DriverFailure.REJECTED


async def test_a_volume_of_a_served_domain_is_reachable_where_the_domain_is_served() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(zones=["a"], mib=16, parameters=SERVED)
        assert [dict(each.segments) for each in volume.accessible_topology] == [{SERVES_A: "true"}]
        request = attach_request(volume.volume_id, "node-b")
        assert await running.refused(m.CONTROLLER_PUBLISH_VOLUME, request) == (
            DriverFailure.WRONG_STATE
        )
        await fence(running)
        await running.attach(volume.volume_id, "node-b")


async def test_a_volume_is_still_made_only_where_it_is_wanted() -> None:
    async with a_driver(*TWO_ZONES) as running:
        await running.create(zones=["a"], mib=16, parameters=SERVED)
        assert await running.cannot_create(zones=["b"], mib=16, parameters=SERVED) == (
            DriverFailure.NAME_TAKEN
        )


async def test_a_grown_volume_keeps_the_label_of_its_domain() -> None:
    async with a_driver(*TWO_ZONES) as running:
        volume = await running.create(zones=["a"], mib=1, parameters=SERVED)
        await running.expand(volume.volume_id, 8)
        (again,) = running.driver.ledger.volumes.all()
        assert again.placement.served_from == ({SERVES_A: "true"},)
