"""Registers drivers on nodes and follows them: CSINode entries and labels come and go with them."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSINode
from plimsoll.decide.node.registration import (
    DriverOnNode,
    decide_registration,
    decide_unregistration,
    plugin_complaint,
    topology_complaint,
)
from plimsoll.enact.enactor import Done, Obstacle, Outcome
from plimsoll.processes.node.drivers import NodeCallMetrics, RegisteredDriver
from plimsoll.processes.node.plugins import DriverPlugin, Introduction
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import NODE_GET_INFO
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

STALE_AFTER = timedelta(minutes=2)
"""How long entries of drivers that an earlier process registered wait for them to come back."""
REGISTER_BACKOFF = Backoff(first=timedelta(milliseconds=500), limit=timedelta(minutes=1))
CONFLICT_BACKOFF = Backoff(first=timedelta(milliseconds=50), limit=timedelta(seconds=2))
ATTEMPTS = 8
STALE = "stale entries"
"""Stands for all drivers of a node that are not there any more; no socket is called like that."""

NODES = typed(Node)
CSI_NODES = typed(CSINode)


class RegistrationRefusedError(Exception):
    """The plugin cannot be registered; the text is told to it."""


@dataclass(frozen=True, slots=True)
class _Known:
    identity: str
    driver: str


class Registrations(Loop):
    name = "registrations"
    workers = 8

    def __init__(self, tools: Tools, nodes: Mapping[str, ServedNode]) -> None:
        super().__init__(tools)
        self.queue = WorkQueue(tools.clock, tools.chance, REGISTER_BACKOFF)
        self._nodes = nodes
        self._known: dict[ObjectKey, _Known] = {}
        self._present: dict[str, Mapping[str, str]] = {}
        """By node: the plugins there at the last look."""
        self._awaited: dict[str, set[str]] = {}
        """By node: the plugins there at the first look that were not tried yet."""
        self._calls = NodeCallMetrics(tools.metrics, tools.clock)
        registered = tools.metrics.gauge(
            "plimsoll_node_drivers_registered", "Drivers that are registered, on all nodes."
        )
        registered.set_function(self._count)  # counted when asked for: nodes may be thousands
        self._refused = tools.metrics.counter(
            "plimsoll_node_registrations_failed_total", "Attempts to register that failed."
        )

    async def run(self) -> None:
        self._present, self._awaited = {}, {}
        for name in self._nodes:
            self.queue.add_after(ObjectKey(name, STALE), STALE_AFTER)
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(), name=self.name)
            group.create_task(self._look(), name="look for plugins")

    async def _look(self) -> None:
        """Polling: registrars come and go seldom, and nothing is missed."""
        every = min(served.plugins.look_every for served in self._nodes.values())
        while True:
            for name, served in self._nodes.items():
                present = await served.plugins.present()
                if name not in self._awaited:
                    self._awaited[name] = {*present}
                    self._note_tried(served)
                self._compare(name, present)
            await self.tools.clock.sleep(every)

    def _compare(self, node: str, present: Mapping[str, str]) -> None:
        before = self._present.get(node, {})
        self._present[node] = present
        for name in sorted(present.keys() | before.keys()):
            if present.get(name) != before.get(name):
                key = ObjectKey(node, name)
                self.queue.forget(key)
                self.queue.add(key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        """The key is a node, and a plugin there."""
        served = self._nodes[key.namespace]
        if key.name == STALE:
            await self._sweep(served)
            return None
        await self._follow(served, key)
        self._note_tried(served, key.name)
        return None

    def _note_tried(self, served: ServedNode, *plugins: str) -> None:
        awaited = self._awaited.get(served.name, set())
        awaited.difference_update(plugins)
        if not awaited and not served.is_introduced:
            served.is_introduced = True
            served.wake()

    async def _follow(self, served: ServedNode, key: ObjectKey) -> None:
        """Register the plugin if it is there, else take it off."""
        identity = self._present.get(key.namespace, {}).get(key.name)
        known = self._known.get(key)
        if identity is None:
            if known is not None:
                await self._unregister(served, key, known)
            return
        if known is not None and known.identity == identity:
            return
        plugin = served.plugins.open(key.name)
        try:
            await self._register(served, key, plugin, identity)
        except (RegistrationRefusedError, DriverError) as problem:
            self._refused.inc()
            facts = {"node": served.name, "plugin": key.name, "error": str(problem)}
            log.warning("driver not registered", extra=facts)
            self.queue.add_rate_limited(key)
        finally:
            await plugin.close()

    # In

    async def _register(
        self, served: ServedNode, key: ObjectKey, plugin: DriverPlugin, identity: str
    ) -> None:
        """Raises RefusedError and DriverError; the plugin has then been told."""
        told = await plugin.introduce()
        try:
            driver = await self._installed(served, plugin, told)
        except (RegistrationRefusedError, DriverError) as problem:
            await plugin.notify(str(problem))
            raise
        await served.drivers.put(driver)
        self._known[key] = _Known(identity, driver.name)
        self.queue.forget(key)
        log.info("driver registered", extra={"node": served.name, "driver": driver.name})
        served.wake()
        await plugin.notify("")

    async def _installed(
        self, served: ServedNode, plugin: DriverPlugin, told: Introduction
    ) -> RegisteredDriver:
        complaint = plugin_complaint(told.type, told.name, told.versions)
        if complaint:
            raise RegistrationRefusedError(complaint)
        client = CsiClient(plugin.connect(told))
        driver = RegisteredDriver(told.name, client, self._calls)
        try:
            info = await driver.call(NODE_GET_INFO, csi.NodeGetInfoRequest())
            await driver.learn_features()
            found = DriverOnNode(
                name=told.name,
                node_id=info.node_id,
                topology=dict(info.accessible_topology.segments),
                volume_limit=max(info.max_volumes_per_node, 0),
            )
            await self._write_down(served, found)
        except (RegistrationRefusedError, DriverError, KubeError):
            await driver.close()
            raise
        return driver

    async def _write_down(self, served: ServedNode, driver: DriverOnNode) -> None:
        """Tries again: a registrar that hears of a failure gives up, and the node changes often."""
        for attempt in range(ATTEMPTS):
            async with served.registering:
                outcome = await self._try_to_write_down(served, driver)
            if isinstance(outcome, Done):
                self.tools.observed.written(outcome.left)
                return
            if isinstance(outcome, Obstacle):
                raise RegistrationRefusedError(f"the server did not take it: {outcome.error}")
            await self.tools.clock.sleep(CONFLICT_BACKOFF.delay(attempt, self.tools.chance))
        raise RegistrationRefusedError(
            f"node {served.name} could not be written; it changes all the time"
        )

    async def _try_to_write_down(self, served: ServedNode, driver: DriverOnNode) -> Outcome | None:
        """None: the node is not known to the server yet."""
        key = ObjectKey("", served.name)
        node = await self.tools.client.find(NODES, key)
        if node is None:
            return None
        complaint = topology_complaint(driver, node)
        if complaint:
            raise RegistrationRefusedError(complaint)
        csi_node = await self.tools.client.find(CSI_NODES, key)
        return await self.tools.enactor.enact(decide_registration(driver, node, csi_node))

    # Out

    async def _unregister(self, served: ServedNode, key: ObjectKey, known: _Known) -> None:
        del self._known[key]
        is_elsewhere = any(
            other.namespace == key.namespace and found.driver == known.driver
            for other, found in self._known.items()
        )
        if is_elsewhere:
            return
        await served.drivers.remove(known.driver)
        log.info("driver unregistered", extra={"node": served.name, "driver": known.driver})
        served.wake()
        if not await self._erase(served, known.driver):
            self._known[key] = known
            self.queue.add_rate_limited(key)

    async def _erase(self, served: ServedNode, driver: str) -> bool:
        key = ObjectKey("", served.name)
        node = await self.tools.client.find(NODES, key)
        csi_node = await self.tools.client.find(CSI_NODES, key)
        outcome = await self.tools.enactor.enact(decide_unregistration(driver, node, csi_node))
        return isinstance(outcome, Done)

    async def _sweep(self, served: ServedNode) -> None:
        csi_node = await self.tools.client.find(CSI_NODES, ObjectKey("", served.name))
        for entry in (csi_node.spec.drivers or ()) if csi_node else ():
            if entry.name not in served.drivers.names and not await self._erase(served, entry.name):
                self.queue.add_rate_limited(ObjectKey(served.name, STALE))

    def _count(self) -> int:
        return sum(len(served.drivers.names) for served in self._nodes.values())
