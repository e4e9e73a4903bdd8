"""The real csi-provisioner refuses a node, and our scheduler gets the pod to another one.

Topology is strict and capacity is not tracked: the driver may make the volume for the selected node
only, and nothing but its refusal tells that the zone of that node is full. The full node is the one
with the best score, so that a scheduler which does not remember would choose it for ever.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import uvloop
import yaml

from conformance.cluster_stories import CLAIMS, EVENTS, PODS, VOLUMES, place
from conformance.csi_checks import Kit, Program, Say, a_driver
from conformance.csi_drivers import Driver, our_driver
from conformance.csi_sidecars import csi_provisioner_with_strict_topology
from conformance.csi_stories import CSI_DRIVERS, CSI_NODES
from conformance.programs import our_scheduler
from conformance.scheduling_stories import Stage, Who
from plimsoll.wire.parameters import Selection

NAME = "pools.plimsoll.dev"
ZONE = f"topology.{NAME}/zone"
FULL_ZONE, ZONES = "a", "abc"
SIZE = "1Gi"


@contextlib.contextmanager
def _one_zone_full(directory: Path) -> Iterator[tuple[str, ...]]:
    pools = [
        {"name": zone, "size": "1Mi" if zone == FULL_ZONE else "8Gi", "topology": {"zone": zone}}
        for zone in ZONES
    ]
    described = directory / "pools.yaml"
    described.write_text(yaml.safe_dump({"pools": pools}))
    yield ("--backend=pools", f"--pools={described}", f"--topology=zone={FULL_ZONE}")


KIT = Kit(name=NAME, start=our_driver, ground=_one_zone_full)


def play(kubeconfig: Path, controller: Program, say: Say) -> None:
    """Raises AssertionError when the pod does not get to another node, or is not told why."""
    with a_driver(KIT) as driver, contextlib.ExitStack() as running:
        running.enter_context(controller(kubeconfig, driver.directory))
        running.enter_context(csi_provisioner_with_strict_topology(kubeconfig, driver))
        running.enter_context(our_scheduler(kubeconfig, driver.directory, policy="default"))
        uvloop.run(_tell(kubeconfig, driver, say))


async def _tell(kubeconfig: Path, driver: Driver, say: Say) -> None:
    async with place(kubeconfig) as at:
        stage = Stage(at, Who(scheduler="plimsoll", provisioner=driver.name))
        try:
            await _prepare(stage, driver)
            say("a pod leaves the best node when csi-provisioner refuses it")
            await stage.add_claim("data", SIZE, "strict")
            tolerations = [{"operator": "Exists"}]
            await stage.add_pod("web", "data", tolerations=tolerations)
            await _is_elsewhere(stage)
            say("and tells who refused it and why")
            await _is_told(stage)
            claim = await at.phase(CLAIMS, "data", "Bound")
            await at.delete(PODS, "web", grace=0)
            await at.delete(CLAIMS, "data")
            await at.gone(VOLUMES, claim["spec"]["volumeName"])
        finally:
            await stage.leave()


async def _prepare(stage: Stage, driver: Driver) -> None:
    untracked = {"attachRequired": False, "storageCapacity": False}
    await stage.add(CSI_DRIVERS, driver.name, spec=untracked)
    await stage.add_class("strict", driver.name)
    for zone in ZONES:
        name = stage.node(zone)
        room = {"cpu": "16", "memory": "64Gi"} if zone == FULL_ZONE else {}
        await stage.add_node(name, {ZONE: zone}, **room)
        entry = {"name": driver.name, "nodeID": name, "topologyKeys": [ZONE]}
        await stage.add(CSI_NODES, name, spec={"drivers": [entry]})


async def _is_elsewhere(stage: Stage) -> None:
    async def is_placed() -> bool:
        return bool((await stage.nodes())["web"])

    await stage.at.seen("web on a node", is_placed)
    node = (await stage.nodes())["web"]
    assert node in {stage.node(zone) for zone in ZONES if zone != FULL_ZONE}, node


async def _is_told(stage: Stage) -> None:
    wanted = f"refused node {stage.node(FULL_ZONE)}"

    async def is_told() -> bool:
        page = await stage.at.client.list(EVENTS, Selection(namespace=stage.at.namespace))
        told = [event["message"] for event in page.items if event["reason"] == "FailedScheduling"]
        return any(
            wanted in text and "ResourceExhausted" in text and "[ProvisionerRefused]" in text
            for text in told
        )

    await stage.at.seen(f"FailedScheduling: {wanted}", is_told)
