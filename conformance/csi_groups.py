"""A pod with two claims of two drivers, on a node that has room for one of them only.

The story of the seed, side by side. With kube-scheduler and csi-provisioner the first volume is
made and bound, the second is refused, and the pod can go nowhere else. With ours both volumes are
held back; the first is deleted, and the pod gets both on the other node. Topology is strict and
capacity is not tracked: only the drivers know where there is room.

Which volume comes first is not left to chance: the other node joins when the first one is selected,
and the driver that refuses answers late. If it refused before the first volume is made,
kube-scheduler could still move both claims to the other node.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop
import yaml

from conformance.client_checks import CLOCK
from conformance.cluster_stories import CLAIMS, PODS, VOLUMES, kind, place
from conformance.csi_checks import Kit, Program, Say, a_driver
from conformance.csi_drivers import Driver, our_driver
from conformance.csi_sidecars import (
    csi_provisioner_with_strict_topology,
    our_provisioner_with_strict_topology,
)
from conformance.csi_stories import CSI_DRIVERS, CSI_NODES
from conformance.programs import kube_scheduler, our_scheduler
from conformance.scheduling_stories import Stage, Who
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.intents import DRIVER
from plimsoll.wire.parameters import Selection

NAMES = ("pools.plimsoll.dev", "disks.plimsoll.dev")
CLAIM_NAMES = ("first", "second")
CROWDED, ZONES = "a", "ab"
SIZE = "1Gi"
STUCK_SECONDS = 20.0
LEASES = kind("Lease", "coordination.k8s.io")
RECORDS = "plimsoll.dev/record in (group,intent)"
ANNOUNCEMENTS = "plimsoll.dev/record=provisioner"


def zone_of(driver: str) -> str:
    return f"topology.{driver}/zone"


@dataclass(frozen=True, slots=True)
class Storage:
    """What a driver has in each zone, and how long it thinks about its first volume."""

    sizes: Mapping[str, str]
    answers_after_seconds: int = 0


@contextlib.contextmanager
def _pools(storage: Storage, directory: Path) -> Iterator[tuple[str, ...]]:
    pools = [
        {"name": zone, "size": storage.sizes[zone], "topology": {"zone": zone}} for zone in ZONES
    ]
    described = directory / "pools.yaml"
    described.write_text(yaml.safe_dump({"pools": pools}))
    if storage.answers_after_seconds:
        delay = {"call": "CreateVolume", "do": "hang", "seconds": storage.answers_after_seconds}
        faults = directory / "driver" / "state" / "faults.yaml"
        faults.parent.mkdir(parents=True)
        faults.write_text(yaml.safe_dump([delay]))
    yield ("--backend=pools", f"--pools={described}", f"--topology=zone={CROWDED}")


STORAGE = (
    Storage({"a": "8Gi", "b": "8Gi"}),
    Storage({"a": "1Mi", "b": "8Gi"}, answers_after_seconds=5),
)
KITS = tuple(
    Kit(name=name, start=our_driver, ground=partial(_pools, storage))
    for name, storage in zip(NAMES, STORAGE, strict=True)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Whose programs play."""

    kubeconfig: Path
    controller: Program
    are_ours: bool


def play(parts: Parts, say: Say) -> None:
    """Raises AssertionError if the pod does not end where these programs get it to."""
    with contextlib.ExitStack() as running:
        drivers = [running.enter_context(a_driver(kit)) for kit in KITS]
        directory = drivers[0].directory
        running.enter_context(parts.controller(parts.kubeconfig, directory))
        provisioner = csi_provisioner_with_strict_topology
        if parts.are_ours:
            provisioner = our_provisioner_with_strict_topology
        for driver in drivers:
            running.enter_context(provisioner(parts.kubeconfig, driver))
        if parts.are_ours:
            running.enter_context(
                our_scheduler(parts.kubeconfig, directory, "default", records="default")
            )
        else:
            running.enter_context(kube_scheduler(parts.kubeconfig, directory))
        uvloop.run(_tell(parts, drivers, say))


async def _tell(parts: Parts, drivers: list[Driver], say: Say) -> None:
    scheduler = "plimsoll" if parts.are_ours else "default-scheduler"
    async with place(parts.kubeconfig) as at:
        stage = Stage(at, Who(scheduler=scheduler, provisioner=drivers[0].name))
        try:
            if parts.are_ours:
                await stage.at.seen("provisioners that take part", partial(_take_part, stage))
            await _prepare(stage, drivers)
            for name in CLAIM_NAMES:
                await stage.add_claim(name, SIZE, name)
            await stage.add_pod("web", *CLAIM_NAMES, tolerations=[{"operator": "Exists"}])
            await stage.at.seen("a node is selected", partial(_has_selected_node, stage))
            await _add_node(stage, drivers, "b")
            if parts.are_ours:
                say("the pod gets both volumes on the other node, and nothing is left on the first")
                await _is_elsewhere(stage)
            else:
                say("the pod stays stuck on the node of its first volume")
                await _is_stuck(stage)
            await _clean_up(stage)
        finally:
            await stage.leave()


async def _take_part(stage: Stage) -> bool:
    """Both provisioners have said that they hold volumes back; before, none would be."""
    page = await stage.at.client.list(LEASES, Selection(labels=ANNOUNCEMENTS))
    told = {lease["metadata"]["annotations"][DRIVER] for lease in page.items}
    return told.issuperset(NAMES)


async def _prepare(stage: Stage, drivers: list[Driver]) -> None:
    untracked = {"attachRequired": False, "storageCapacity": False}
    for driver, name in zip(drivers, CLAIM_NAMES, strict=True):
        await stage.add(CSI_DRIVERS, driver.name, spec=untracked)
        await stage.add_class(name, driver.name)
    await _add_node(stage, drivers, CROWDED)


async def _has_selected_node(stage: Stage) -> bool:
    claim = await stage.at.find(CLAIMS, CLAIM_NAMES[0]) or {"metadata": {}}
    return SELECTED_NODE in (claim["metadata"].get("annotations") or {})


async def _add_node(stage: Stage, drivers: list[Driver], zone: str) -> None:
    node = stage.node(zone)
    await stage.add_node(node, {zone_of(each.name): zone for each in drivers})
    entries = [
        {"name": each.name, "nodeID": node, "topologyKeys": [zone_of(each.name)]}
        for each in drivers
    ]
    await stage.add(CSI_NODES, node, spec={"drivers": entries})


async def _is_elsewhere(stage: Stage) -> None:
    async def is_placed() -> bool:
        return bool((await stage.nodes())["web"])

    await stage.at.seen("web on a node", is_placed)
    assert (await stage.nodes())["web"] == stage.node("b")
    for name in CLAIM_NAMES:
        claim = await stage.at.phase(CLAIMS, name, "Bound")
        assert await _zone(stage, claim["spec"]["volumeName"]) == "b"

    await _has_no_records(stage)


async def _has_no_records(stage: Stage) -> None:
    """No group of the pod and no intent of its claims is left. Those of others do not count: a
    provisioner that was stopped in the middle of a call leaves its intent to the next one."""
    pod = await stage.at.find(PODS, "web") or {}
    claims = [await stage.at.find(CLAIMS, name) or {} for name in CLAIM_NAMES]
    uids = [each["metadata"]["uid"] for each in (pod, *claims)]
    left: list[str] = []

    async def are_gone() -> bool:
        page = await stage.at.client.list(LEASES, Selection(labels=RECORDS))
        names = [lease["metadata"]["name"] for lease in page.items]
        left[:] = [name for name in names if any(uid in name for uid in uids)]
        return not left

    try:
        await stage.at.seen("groups and intents gone", are_gone)
    except AssertionError as error:
        raise AssertionError(f"{error}; left: {', '.join(left)}") from error


async def _is_stuck(stage: Stage) -> None:
    claim = await stage.at.phase(CLAIMS, "first", "Bound")
    assert await _zone(stage, claim["spec"]["volumeName"]) == CROWDED
    until = CLOCK.monotonic() + STUCK_SECONDS
    while CLOCK.monotonic() < until:
        assert not (await stage.nodes())["web"], "it is not stuck"
        await asyncio.sleep(1)
    second = await stage.at.find(CLAIMS, "second") or {}
    assert second["status"].get("phase") == "Pending"


async def _zone(stage: Stage, volume: str) -> str:
    """Where the volume can be reached."""
    found = await stage.at.find(VOLUMES, volume) or {}
    terms = found["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    zone: str = terms[0]["matchExpressions"][0]["values"][0]
    return zone


async def _clean_up(stage: Stage) -> None:
    """Each driver checks in the end that it has no volume left."""
    await stage.at.delete(PODS, "web", grace=0)
    volumes = []
    for name in CLAIM_NAMES:
        claim = await stage.at.find(CLAIMS, name) or {}
        volumes += [claim["spec"]["volumeName"]] if claim["spec"].get("volumeName") else []
        await stage.at.delete(CLAIMS, name)
    for volume in volumes:
        await stage.at.gone(VOLUMES, volume)
