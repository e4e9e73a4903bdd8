"""Creates or adopts each Node object once, then writes its status on changes, otherwise rarely."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.cache.store import StoreChange
from plimsoll.decide.node.node_object import (
    is_current,
    missing_metadata,
    new_node,
    new_status,
    unique_names,
)
from plimsoll.processes.node.observation import NodeObservation
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import WriteOptions, merge_patch, strategic_patch

log = logging.getLogger(__name__)

NODES = documents(typed(Node).resource)
STATUS_EVERY = timedelta(minutes=5)
SPREAD = 0.2


class Reports:
    """Writes statuses of nodes, one at a time for each node."""

    def __init__(self, tools: Tools, observation: NodeObservation) -> None:
        self._tools = tools
        self._observation = observation
        self._locks: dict[str, asyncio.Lock] = {}

    async def write(self, served: ServedNode, *, anyway: bool = False) -> bool:
        """Bring the status up to date; `anyway`: even if nothing in it changed. True if written.

        A node that is not ready becomes so when its drivers have been introduced. Raises KubeError.
        """
        async with self._locks.setdefault(served.name, asyncio.Lock()):
            node = self._observation.find_node(served.name)
            if node is None:
                return False
            # Who sees the node ready finds the limits of its drivers.
            is_ready = node.is_ready or served.is_introduced
            in_use = self._observation.devices_in_use(served, node)
            names = frozenset(unique_names(in_use))
            if is_current(served.machine, node, in_use, is_ready=is_ready) and not anyway:
                served.announced = names
                return False
            # What is taken out must not be counted on from here on; what is put in, from there on.
            served.announced &= names
            now = self._tools.clock.now()
            status = new_status(served.machine, node, in_use, now, is_ready=is_ready)
            patch = strategic_patch({"metadata": {"uid": node.uid}, "status": status})
            options = WriteOptions(subresource="status")
            written = await self._tools.client.patch(NODES, node.key, patch, options)
            self._tools.observed.written((written,))
            served.announced = names
            return True


class NodeObjects(Loop):
    name = "node-objects"

    def __init__(
        self,
        tools: Tools,
        nodes: Mapping[str, ServedNode],
        observation: NodeObservation,
        reports: Reports,
    ) -> None:
        super().__init__(tools)
        self._nodes = nodes
        self._observation = observation
        self._reports = reports
        self._known: set[str] = set()
        """Nodes that existed since we started. As with kubelet, a deleted one is not made again."""
        self._written_at: dict[str, float] = {}
        observation.nodes.on_change(self._node_changed)
        for name, served in nodes.items():
            served.wakers.append(partial(self.queue.add, ObjectKey("", name)))

    def _node_changed(self, change: StoreChange[Node]) -> None:
        if change.key.name in self._nodes:
            self.queue.add(change.key)

    async def run(self) -> None:
        for name in self._nodes:
            self.queue.add(ObjectKey("", name))
        await super().run()

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        served = self._nodes[key.name]
        node = self._observation.find_node(key.name)
        if node is None:
            return await self._make(served)
        self._known.add(key.name)
        await self._adopt(served, node)
        now = self.tools.clock.monotonic()
        age = now - self._written_at.get(key.name, float("-inf"))
        is_old = age >= STATUS_EVERY.total_seconds() * (1 - SPREAD)
        if await self._reports.write(served, anyway=is_old):
            self._written_at[key.name] = now
        self.queue.forget(key)
        return STATUS_EVERY * self.tools.chance.uniform(1 - SPREAD, 1)

    async def _make(self, served: ServedNode) -> timedelta | None:
        if served.name in self._known:
            log.warning(
                "Node object deleted; it comes back when this process is started again",
                extra={"node": served.name},
            )
            return None
        try:
            made = await self.tools.client.create(NODES, new_node(served.machine))
        except KubeError as error:
            if error.failure is not Failure.ALREADY_EXISTS:
                raise
            return timedelta(seconds=1)  # the watch is about to show it
        log.info("node made", extra={"node": served.name})
        self.tools.observed.written((made,))
        return None

    async def _adopt(self, served: ServedNode, node: Node) -> None:
        missing = missing_metadata(served.machine, node)
        if not missing:
            return
        patch = merge_patch({"metadata": missing | {"uid": node.uid}})
        written = await self.tools.client.patch(NODES, node.key, patch)
        self.tools.observed.written((written,))
