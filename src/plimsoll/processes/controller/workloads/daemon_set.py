"""The control loop of DaemonSets; its decisions are in `decide/workloads/daemon_set/`."""

from datetime import timedelta

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.workloads import ControllerRevision, DaemonSet
from plimsoll.cache.store import StoreChange
from plimsoll.decide.plan import Delete, Plan
from plimsoll.decide.workloads.daemon_set.daemon_set import (
    DaemonSetView,
    decide_daemon_set,
)
from plimsoll.decide.workloads.daemon_set.nodes import is_same_for_daemons, target_node
from plimsoll.decide.workloads.owned import DAEMON_SET
from plimsoll.processes.controller.workloads.owners import OwnerLoop, readable_selector
from plimsoll.processes.controller.workloads.replica_set import suffixes
from plimsoll.processes.controller.workloads.revision_owners import revisions_of, watch_revisions
from plimsoll.reconcile.loop import Tools
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import Clock

FAILED_POD_BACKOFF = Backoff(first=timedelta(seconds=1), limit=timedelta(minutes=15))
FORGOTTEN_AFTER = FAILED_POD_BACKOFF.limit * 2
"""A node where no pod has failed for that long starts anew."""


class FailedPodBackoff:
    """Pauses between pods that fail on one node: the node may refuse every one of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str], tuple[float, int]] = {}

    def note(self, uid: str, node: str) -> None:
        _, failures = self._until.get((uid, node), (0.0, 0))
        pause = min(FAILED_POD_BACKOFF.first * (1 << min(failures, 20)), FAILED_POD_BACKOFF.limit)
        self._until[uid, node] = (self._clock.monotonic() + pause.total_seconds(), failures + 1)

    def left(self, uid: str) -> dict[str, timedelta]:
        """Nodes where the set has to wait, and for how long."""
        now = self._clock.monotonic()
        waits = {n: until - now for (u, n), (until, _) in self._until.items() if u == uid}
        for node, wait in waits.items():
            if wait < -FORGOTTEN_AFTER.total_seconds():
                del self._until[uid, node]
        return {node: timedelta(seconds=wait) for node, wait in waits.items() if wait > 0}

    def forget(self, uid: str) -> None:
        for key in [key for key in self._until if key[0] == uid]:
            del self._until[key]


class DaemonSets(OwnerLoop[DaemonSet, Pod]):
    name = "daemonset"
    workload = DAEMON_SET

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools, DaemonSet, Pod)
        self._failed_pods = FailedPodBackoff(tools.clock)
        self._owners.on_change(self._set_changed)
        self._revisions = tools.observed.of(ControllerRevision)
        watch_revisions(self, self._revisions)
        self._nodes = tools.observed.of(Node)
        self._nodes.on_change(self._node_changed)

    def _set_changed(self, change: StoreChange[DaemonSet]) -> None:
        if change.after is None and change.before is not None:
            self._failed_pods.forget(change.before.uid)

    def _node_changed(self, change: StoreChange[Node]) -> None:
        before, after = change.before, change.after
        if before is not None and after is not None and is_same_for_daemons(before, after):
            return
        for key in self._owners.view().objects:
            self.queue.add(key)

    def selector(self, owner: DaemonSet) -> LabelSelector:
        return readable_selector(owner.spec.selector)

    async def tend(self, owner: DaemonSet) -> timedelta | None:
        revisions, pods = revisions_of(self, owner, self._revisions), self.members_of(owner)
        if not await self.settle_ownership(owner, revisions):
            return None
        if not await self.settle_ownership(owner, pods):
            return None
        failed_pods = self._failed_pods.left(owner.uid)
        seen = DaemonSetView(
            nodes=tuple(self._nodes.view().objects.values()),
            pods=pods.members,
            revisions=revisions.members,
            named=self._revisions.view().objects,
            resting=frozenset(failed_pods),
            now=self.tools.clock.now(),
        )
        steps = decide_daemon_set(owner, seen, suffixes(self.tools.ids))
        failure = await self.carry_out(owner, steps.history)
        if failure is None:
            self._note_failed(owner, steps.act, pods.members)
            failure = await self.carry_out(owner, steps.act)
            failure = await self.carry_out(owner, steps.report) or failure
        self.finish(owner, failure)
        waits = [*failed_pods.values(), *filter(None, [steps.report.recheck_after])]
        return min(waits, default=None)

    def _note_failed(self, owner: DaemonSet, plan: Plan, pods: tuple[Pod, ...]) -> None:
        deleted = {write.uid for write in plan.writes if isinstance(write, Delete)}
        for pod in pods:
            if pod.uid in deleted and pod.status.phase == "Failed":
                self._failed_pods.note(owner.uid, target_node(pod))
