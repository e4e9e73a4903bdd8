"""Ends pods that no node will end: `decide.cluster.lost_nodes` for every pod."""

from dataclasses import dataclass
from datetime import timedelta

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.cache.store import StoreChange
from plimsoll.decide.cluster.lost_nodes import (
    PodEndingReason,
    decide_ending,
    reason_to_end,
    surplus,
)
from plimsoll.enact.enactor import Obstacle
from plimsoll.reconcile.indexes import PODS_BY_NODE, node_of
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.kind import typed

NODES = typed(Node)
FINISHED = ObjectKey("", "finished pods")
"""Stands for all of them; no pod is called like that."""
COUNT_EVERY = timedelta(seconds=20)
LOOK_AGAIN = timedelta(seconds=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGcSettings:
    terminated_pod_threshold: int = 12_500
    """So many finished pods may stay; 0: all of them."""
    quarantine: timedelta = timedelta(seconds=40)
    """For how long a node must be missing before its pods are given up."""


DEFAULTS = PodGcSettings()


class PodGarbageCollector(Loop):
    name = "pod-gc"

    def __init__(self, tools: Tools, settings: PodGcSettings = DEFAULTS) -> None:
        super().__init__(tools)
        self._settings = settings
        self._pods = tools.observed.of(Pod)
        self._nodes = tools.observed.of(Node)
        self._pods.index(PODS_BY_NODE, node_of)
        self._pods.on_change(self._pod_changed)
        self._nodes.on_change(self._node_changed)
        self._missing_since: dict[str, float] = {}
        labels = ("namespace", "reason")
        self._ended = tools.metrics.counter(
            "pod_gc_collector_force_delete_pods_total", "Pods ended by force.", labels
        )
        self._failures = tools.metrics.counter(
            "pod_gc_collector_force_delete_pod_errors_total",
            "Pods that could not be ended.",
            labels,
        )

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        pod = change.after
        if pod is None:
            return
        if pod.is_finished and self._settings.terminated_pod_threshold > 0:
            self.queue.add_after(FINISHED, COUNT_EVERY)
        if pod.is_being_deleted or pod.spec.node_name:
            self.queue.add(change.key)

    def _node_changed(self, change: StoreChange[Node]) -> None:
        if change.after is not None:
            self._missing_since.pop(change.key.name, None)
        for key in self._pods.view().by(PODS_BY_NODE, change.key.name):
            self.queue.add(key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        if key == FINISHED:
            await self._clear_finished()
            return None
        pod = self._pods.view().get(key)
        if pod is None:
            return None
        name = pod.spec.node_name
        node = self._nodes.view().get(ObjectKey("", name))
        wait = self._quarantine(name) if name and node is None else None
        is_gone = wait == timedelta() and not await self._exists(name)
        ending = reason_to_end(pod, node, node_is_gone=is_gone)
        if ending is not None:
            await self._end(pod, ending)
            return None
        return None if wait is None else wait or LOOK_AGAIN

    async def _clear_finished(self) -> None:
        pods = self._pods.view().objects.values()
        for pod in surplus(pods, self._settings.terminated_pod_threshold):
            await self._end(pod, PodEndingReason.TOO_MANY)

    def _quarantine(self, node: str) -> timedelta:
        """How long the node must still be missed; no time: long enough."""
        now = self.tools.clock.monotonic()
        missed = timedelta(seconds=now - self._missing_since.setdefault(node, now))
        return max(self._settings.quarantine - missed, timedelta())

    async def _exists(self, node: str) -> bool:
        return await self.tools.client.find(NODES, ObjectKey("", node)) is not None

    async def _end(self, pod: Pod, ending: PodEndingReason) -> None:
        outcome = await self.enact(pod.key, decide_ending(pod, ending, self.tools.clock.now()))
        self._ended.labels(pod.namespace, ending.value).inc()
        if isinstance(outcome, Obstacle):
            self._failures.labels(pod.namespace, ending.value).inc()
