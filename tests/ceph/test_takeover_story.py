"""A zone is lost, taken over with its volumes, and given back, by real processes on real pools: as
the map says, and by the controller itself.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from conformance.every_step.waiting import until

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey, find_condition
from plimsoll.decide.ceph.journal.fence_leaders import LEADER
from plimsoll.decide.ceph.journal.layout import JournalKind, JournalLayout
from plimsoll.wire.ceph.connection import PoolScope
from plimsoll.wire.ceph.objects import RadosObjects
from tests.ceph import guardian
from tests.ceph.connections import connected
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster, osd
from tests.ceph.pool_admin import JOURNAL, PoolAdmin
from tests.ceph.takeover_steps import (
    FLAGS,
    LOST,
    MAP,
    MAPS,
    NODES,
    POD,
    TARGET,
    checksum,
    is_served_by,
    is_told,
    lose,
    taken_over_and_given_back,
    takeover_map,
    write_checked,
)
from tests.ceph.zonal_cluster import (
    CONTROLLER,
    ZONES,
    ZonalCluster,
    ZonalSettings,
    driver_of,
    node_of,
    zonal_cluster,
)
from tests.ceph.zonal_pods import SECONDS, end, end_pods, make, mounted, pod, running

SILENT, AFTER = 20.0, 4.0
"""Seconds after which a node counts as silent, and after which a lost domain is taken over, or one
that is back given back."""
AUTOMATIC = (
    f"--node-monitor-grace-period={SILENT:.0f}s",
    f"--auto-takeover-after={AFTER:.0f}s",
    f"--auto-giveback-after={AFTER:.0f}s",
)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(600),
]


@pytest.fixture
async def zonal(
    cluster: LoopbackCluster, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[ZonalCluster]:
    """With pools that survive a zone, and a controller beside a zone that is not lost."""
    flags: tuple[str, ...] = getattr(request, "param", ())
    admin = PoolAdmin(cluster, tmp_path)
    printed = yaml.safe_load((await asyncio.to_thread(admin.made)).stdout)["parameters"]
    settings = ZonalSettings(
        parameters={**printed, "reach": "ServedDomain"},
        options={"pool": JOURNAL},
        beside=ZONES[-1],
        controller_flags=(*FLAGS, *flags),
    )
    async with zonal_cluster(cluster, settings) as made:
        try:
            yield made
        finally:
            print(made.said())
    assert guardian.mounts(cluster.directory) == []
    assert guardian.loop_devices(cluster.directory) == []
    admin.clear()


async def test_a_lost_zone_is_taken_over_with_its_data_and_given_back(zonal: ZonalCluster) -> None:
    await taken_over_and_given_back(zonal)


async def newest_leader(ceph: LoopbackCluster) -> str:
    """As the journal has it beside the fences; empty: no leader has written a fence."""
    directory = JournalLayout(kind=JournalKind.VOLUME).directory(JOURNAL).name
    async with connected(ceph) as connection:
        objects = RadosObjects(connection, PoolScope(pool=JOURNAL))
        found = (
            await objects.keys_from(directory, LEADER) if await objects.exists(directory) else {}
        )
    return next(iter(found.values()), "")


@pytest.mark.parametrize("zonal", [("--leader-elect-identity=",)], indirect=True)
async def test_the_next_controller_is_known_to_ceph_before_it_serves_what_the_former_one_fenced(
    zonal: ZonalCluster,
) -> None:
    await is_served_by(zonal, LOST)
    await zonal.client.create(takeover_map({LOST: [TARGET]}))
    await is_served_by(zonal, TARGET)
    former = await newest_leader(zonal.ceph)
    assert former
    zonal.processes[CONTROLLER].kill()

    async def is_followed() -> bool:
        return await newest_leader(zonal.ceph) not in ("", former)

    await until("the next controller is known to Ceph", is_followed)
    await is_served_by(zonal, TARGET)
    await zonal.client.patch(MAPS, MAP, {"data": takeover_map({})["data"]})
    await is_served_by(zonal, LOST)


@contextmanager
def only_surviving_pools(cluster: LoopbackCluster) -> Iterator[None]:
    """The controller takes over no domain by itself while a pool would not survive it."""
    for pool in POOLS.values():
        cluster.remove_pool(pool)
    try:
        yield
    finally:
        for zone, pool in POOLS.items():
            cluster.make_pool(pool, rule=f"only-{zone}", size=1)


def is_ready(node: Node) -> bool:
    found = find_condition(node.status.conditions, "Ready")
    return found is not None and found.status == "True"


async def until_node(zonal: ZonalCluster, *, ready: bool) -> None:
    """The node of the lost zone is seen to be so."""
    async with asyncio.timeout(SECONDS):
        key = ObjectKey("", node_of(LOST))
        await zonal.client.until(NODES, key, lambda node: is_ready(node) is ready)


async def until_map(zonal: ZonalCluster, *, names: bool) -> None:
    """The map names the lost zone, or does not name it any more."""

    async def is_so() -> bool:
        found = await zonal.client.find(MAPS, MAP)
        return (found is not None and LOST in found.data.get("config.json", "")) is names

    await until(f"the map names {LOST}: {names}", is_so)


async def mounted_anywhere(zonal: ZonalCluster) -> Path:
    """Where the pod has its volume, outside of the lost zone."""
    zones = {node_of(zone): zone for zone in ZONES if zone != LOST}
    zone = zones[(await running(zonal, POD)).spec.node_name]
    return await mounted(zonal, POD, zone)


@pytest.mark.parametrize("zonal", [("--auto-takeover=on", *AUTOMATIC)], indirect=True)
async def test_the_controller_takes_over_a_lost_zone_by_itself_and_gives_it_back(
    zonal: ZonalCluster,
) -> None:
    with only_surviving_pools(zonal.ceph):
        await taken_over_by_itself(zonal)


async def taken_over_by_itself(zonal: ZonalCluster) -> None:
    await make(zonal, POD, LOST)
    first = await asyncio.to_thread(write_checked, await mounted(zonal, POD, LOST) / "first")

    await asyncio.to_thread(lose, zonal, LOST)
    await until_node(zonal, ready=False)
    await until_map(zonal, names=True)
    await is_told(zonal, "DomainLost", LOST, f"has been ready for {AFTER:g} s")
    await is_told(zonal, "DomainFenced", f"Nothing in {LOST} can write any more")
    await is_served_by(zonal, *(zone for zone in ZONES if zone != LOST))
    await end_pods(zonal, POD)
    await zonal.client.create(pod(POD))
    elsewhere = await mounted_anywhere(zonal)
    assert await asyncio.to_thread(checksum, elsewhere / "first") == first

    await asyncio.to_thread(restart_storage, zonal, LOST)
    for name in (driver_of(LOST), node_of(LOST)):
        zonal.processes[name].release()
    await until_node(zonal, ready=True)
    await until_map(zonal, names=False)
    await is_told(zonal, "DomainBack", LOST, f"have been ready for {AFTER:g} s")
    await end_pods(zonal, POD)
    await is_served_by(zonal, LOST)
    await zonal.client.create(pod(POD))
    back = await mounted(zonal, POD, LOST)
    assert await asyncio.to_thread(checksum, back / "first") == first
    await end(zonal, POD)


def restart_storage(zonal: ZonalCluster, zone: str) -> None:
    zonal.ceph.start(osd(zone))
    zonal.ceph.wait_for_osds(len(ZONES))


@pytest.mark.parametrize("zonal", [("--auto-takeover=dry-run", *AUTOMATIC)], indirect=True)
async def test_a_dry_run_tells_what_it_would_do_and_does_nothing(zonal: ZonalCluster) -> None:
    with only_surviving_pools(zonal.ceph):
        await asyncio.to_thread(lose, zonal, LOST)
        try:
            await is_told(zonal, "DomainLost", LOST, "would be taken over (dry run)")
            assert await zonal.client.find(MAPS, MAP) is None
            await is_served_by(zonal, LOST)
        finally:
            await asyncio.to_thread(restart_storage, zonal, LOST)
