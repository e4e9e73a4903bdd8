"""Nodes for stories: hollow ones, with a driver that only keeps record."""

from collections.abc import Mapping
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.processes.node.main import makers
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.processes.node.settings import NodeProcessSettings, hollow_nodes
from plimsoll.simulator.stories.cluster import Controller, StoryCluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.scripted_driver import ScriptedDriver
from plimsoll.simulator.stories.story_process import StoryCsiLink
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.transport import CsiTransport

DRIVER = "disk.example.com"


class Nodes:
    """Hollow nodes in a story's cluster, with one driver each."""

    def __init__(self, cluster: StoryCluster, number: int = 1, **driver: Any) -> None:
        self._cluster = cluster
        names = [f"node-{index}" for index in range(number)]
        self.drivers = {name: ScriptedDriver(**({"node_id": name} | driver)) for name in names}
        self.settings = NodeProcessSettings(hollow=number, name_prefix="node-")

    @property
    def driver(self) -> ScriptedDriver:
        return self.drivers["node-0"]

    def served(self) -> dict[str, ServedNode]:
        return hollow_nodes(self.settings, self._transports)

    def _transports(self, node: str) -> Mapping[str, CsiTransport]:
        driver = self.drivers[node]
        return {driver.name: StoryCsiLink(InProcessCsi(driver.handlers(), self._cluster.clock))}

    async def start_each(self) -> dict[str, Controller]:
        """Each node in a process of its own, so that one can be killed alone."""
        served = self.served()
        lives = {name: await self.start_one(name, served[name]) for name in served}
        await self._cluster.settle()
        return lives

    async def start_one(self, name: str, served: ServedNode | None = None) -> Controller:
        return await self._cluster.start(more=makers({name: served or self.served()[name]}))

    async def start(self) -> Controller:
        life = await self._cluster.start(more=makers(self.served()))
        await self._cluster.settle()
        return life


def driver_object(**spec: Any) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"attachRequired": False} | spec,
    }


async def a_bound_claim(
    cluster: StoryCluster,
    name: str = "data",
    *,
    affinity: Document | None = None,
    **spec: Any,
) -> None:
    """A claim, and a volume `volume-<name>` of the driver; `spec` is the volume's."""
    volume_name = f"volume-{name}"
    await cluster.create(claim(name, volume=volume_name))
    found = await cluster.get("PersistentVolumeClaim", name)
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": name,
        "uid": found["metadata"]["uid"],
    }
    await cluster.create(volume(volume_name, claim_ref=reference, affinity=affinity, spec=spec))
    sizes = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    await cluster.patch("PersistentVolumeClaim", name, {"status": sizes}, subresource="status")
    bound = {"status": {"phase": "Bound"}}
    await cluster.patch("PersistentVolume", volume_name, bound, subresource="status")


async def phase(cluster: StoryCluster, pod: str) -> str:
    found = await cluster.get("Pod", pod)
    return str(found["status"].get("phase", ""))
