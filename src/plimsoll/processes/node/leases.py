"""Renews a Lease for each node, at different moments, so that many nodes cost little."""

from collections.abc import Mapping
from datetime import timedelta

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.decide.node.node_object import LEASES, lease_spec, new_lease, renewal_period
from plimsoll.processes.node.observation import NodeObservation
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import merge_patch

LEASE_KIND = documents(typed(Lease).resource)
SPREAD = 0.1
SOON = timedelta(seconds=1)


class Leases(Loop):
    name = "node-leases"

    def __init__(
        self,
        tools: Tools,
        nodes: Mapping[str, ServedNode],
        observation: NodeObservation,
        every: timedelta,
    ) -> None:
        super().__init__(tools)
        self._nodes = nodes
        self._observation = observation
        self._every = renewal_period(every, len(nodes))

    async def run(self) -> None:
        for name in self._nodes:
            # A single node begins at once, many of them in the course of a period.
            wait = self._every * self.tools.chance.random() if len(self._nodes) > 1 else SOON / 10
            self.queue.add_after(ObjectKey("", name), wait)
        await super().run()

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        node = self._observation.find_node(key.name)
        if node is None:
            return SOON
        now = self.tools.clock.now()
        patch = merge_patch({"spec": lease_spec(node.name, now)})
        try:
            await self.tools.client.patch(LEASE_KIND, ObjectKey(LEASES, node.name), patch)
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise
            await self.tools.client.create(LEASE_KIND, new_lease(node, now))
        self.queue.forget(key)
        return self._every * self.tools.chance.uniform(1 - SPREAD, 1)
