"""Ends pods by NoExecute taints of nodes: `decide.cluster.node_lifecycle.eviction` for each pod."""

from datetime import datetime, timedelta

from plimsoll.api.core import Node, Taint
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.cache.store import StoreChange
from plimsoll.decide.cluster.node_lifecycle.eviction import (
    decide_cancelled_eviction,
    decide_taint_eviction,
    eviction_time,
    no_execute_taints,
)
from plimsoll.enact.enactor import Done
from plimsoll.reconcile.indexes import PODS_BY_NODE, node_of
from plimsoll.reconcile.loop import Loop, Tools

NO_TAINTS: tuple[Taint, ...] = ()


class TaintEvictions(Loop):
    name = "taint-eviction"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._nodes = tools.observed.of(Node)
        self._pods = tools.observed.of(Pod)
        self._pods.index(PODS_BY_NODE, node_of)
        self._pods.on_change(self._pod_changed)
        self._nodes.on_change(self._node_changed)
        self._noticed: dict[str, datetime] = {}
        """By node: when its present NoExecute taints were first seen; for those without a time."""
        self._planned: set[str] = set()
        """Uids of pods that are to be ended unless something changes."""
        self._ended = tools.metrics.counter(
            "taint_eviction_controller_pod_deletions_total", "Pods ended because of a taint."
        )

    def _node_changed(self, change: StoreChange[Node]) -> None:
        before = no_execute_taints(change.before) if change.before else NO_TAINTS
        after = no_execute_taints(change.after) if change.after else NO_TAINTS
        if before == after:
            return
        if not after:
            self._noticed.pop(change.key.name, None)
        elif set(after) - set(before):
            self._noticed[change.key.name] = self.tools.clock.now()
        for key in self._pods.view().by(PODS_BY_NODE, change.key.name):
            self.queue.add(key)

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        before, after = change.before, change.after
        if after is None:
            if before is not None:
                self._planned.discard(before.uid)
        elif after.spec.node_name and (
            after.uid in self._planned or self._taints(after.spec.node_name)
        ):
            self.queue.add(change.key)

    def _taints(self, node: str) -> tuple[Taint, ...]:
        found = self._nodes.view().get(ObjectKey("", node))
        return no_execute_taints(found) if found is not None else NO_TAINTS

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        pod = self._pods.view().get(key)
        if pod is None or not pod.spec.node_name or pod.is_being_deleted:
            return None
        now = self.tools.clock.now()
        noticed = self._noticed.get(pod.spec.node_name, now)
        due = eviction_time(pod, self._taints(pod.spec.node_name), noticed)
        if due is None:
            await self._keep(pod)
            return None
        self._planned.add(pod.uid)
        if due > now:
            return due - now
        if isinstance(await self.enact(key, decide_taint_eviction(pod, now)), Done):
            self._ended.inc()
        return None

    async def _keep(self, pod: Pod) -> None:
        if pod.uid in self._planned:
            self._planned.discard(pod.uid)
            await self.enact(pod.key, decide_cancelled_eviction(pod))
