"""Takes back marks of disruptions that did not happen: `decide.cluster.stale_disruption`."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey, find_condition
from plimsoll.api.pods import Pod
from plimsoll.cache.store import StoreChange
from plimsoll.decide.cluster.lost_nodes import DISRUPTION
from plimsoll.decide.cluster.stale_disruption import decide_stale_disruption
from plimsoll.reconcile.loop import Loop, Tools


class StaleDisruptions(Loop):
    name = "stale-disruption"
    workers = 1

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._pods = tools.observed.of(Pod)
        self._pods.on_change(self._pod_changed)

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        pod = change.after
        if pod is not None and find_condition(pod.status.conditions, DISRUPTION) is not None:
            self.queue.add(change.key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        pod = self._pods.view().get(key)
        if pod is not None:
            await self.enact(key, decide_stale_disruption(pod, self.tools.clock.now()))
        return None
