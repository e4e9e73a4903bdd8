"""Takes one pod after the other, has it judged, and starts its binding; then takes the next.

Between the first look at the cluster and the assumption of what was decided nothing else happens,
so that no two decisions contradict each other. Binding goes on beside it, for as long as it takes.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from plimsoll.api.core import Lease
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.binding.bind_volumes import AllBound, Choice
from plimsoll.decide.scheduling.flags import AnyRule
from plimsoll.decide.scheduling.judge import Rejected
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.queue.wakeups import concerns, helps, may_help_any_pod
from plimsoll.decide.scheduling.reasons import Finding, Reason, Rule, Verdict, unschedulable
from plimsoll.decide.scheduling.rules.volume_binding.capacity_use import capacity_uses
from plimsoll.processes.scheduler.binding.binder import Binder, BindingFailed, BindingStage
from plimsoll.processes.scheduler.binding.groups import Groups
from plimsoll.processes.scheduler.events import (
    PodScheduledReason,
    Reporter,
    refusal_text,
    with_code,
)
from plimsoll.processes.scheduler.metrics import AttemptResult, SchedulerMetrics, VolumeOperation
from plimsoll.processes.scheduler.queue import QueuedPod, SchedulingQueue
from plimsoll.processes.scheduler.refusals import RefusalLearner, RefusalPause
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.runtime.clock import NO_TIME, Clock

log = logging.getLogger(__name__)

QUIET_CONFLICTS = 10
"""After so many in a row the user is told: something writes all the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the cycle works with."""

    state: SchedulerState
    kernel: Kernel
    """Follows the state."""
    queue: SchedulingQueue
    binder: Binder
    reporter: Reporter
    metrics: SchedulerMetrics
    clock: Clock
    refusals: RefusalLearner | None
    """None: the policy remembers nothing."""
    groups: Groups | None
    """None: the policy holds nothing back."""


class Cycle:
    def __init__(self, parts: Parts, *, is_ours: Callable[[Pod], bool]) -> None:
        self._parts = parts
        self._is_ours = is_ours
        self._changed = asyncio.Event()
        self._ended = 0
        """How many reservations had ended when pods were last woken for that."""
        parts.state.on_observed(self.observe)

    async def run(self) -> None:
        """Never returns; cancel it: bindings under way are left to the next scheduler."""
        async with asyncio.TaskGroup() as bindings:
            while True:
                entry = await self._next()
                try:
                    self._try(entry, bindings)
                except BaseException:
                    self._parts.queue.fail(entry, self._parts.clock.now())
                    raise
                await self._parts.clock.sleep(NO_TIME)

    async def _next(self) -> QueuedPod:
        queue, clock = self._parts.queue, self._parts.clock
        while True:
            self._let_time_pass()
            entry = queue.pop(clock.now())
            if entry is not None:
                return entry
            times = (queue.next_due(), self._parts.kernel.columns.reservations.deadlines.next_end)
            due = min((time for time in times if time is not None), default=None)
            limit = None if due is None else max(due - clock.now(), NO_TIME)
            self._changed.clear()
            try:
                async with clock.timeout(limit):
                    await self._changed.wait()
            except TimeoutError:
                continue

    # What is observed

    def observe(self, before: ApiObject | None, after: ApiObject | None) -> None:
        """Which pods come and go, and which pods a change may help."""
        either = after or before
        if isinstance(either, Pod):
            self._observe_pod(either.key)
            if self._parts.groups is not None:
                self._parts.groups.observe_pod()
        if isinstance(either, Lease):
            self._observe_record()
        if may_help_any_pod(before, after):
            self._wake(before, after)

    def _observe_record(self) -> None:
        """Pods may fit where an attempt that was given up took room until now."""
        parts = self._parts
        ended = parts.kernel.columns.reservations.ended
        if ended != self._ended and parts.queue.wake(_is_about_claims, parts.clock.now()):
            self._changed.set()
        self._ended = ended

    def _observe_pod(self, key: ObjectKey) -> None:
        queue = self._parts.queue
        seen = self._parts.state.stores.pod(key)
        if seen is None or seen.spec.node_name or seen.is_being_deleted:
            queue.remove(key)
        elif self._is_ours(seen):
            queue.put(seen, self._parts.clock.now())
            self._changed.set()

    def _wake(self, before: ApiObject | None, after: ApiObject | None) -> None:
        view = self._parts.kernel.columns

        def may_help(pod: Pod, rule: AnyRule) -> bool:
            return helps(rule, pod, before, after) and concerns(pod, before, after, view)

        if self._parts.queue.wake(may_help, self._parts.clock.now()):
            self._changed.set()

    def _let_time_pass(self) -> None:
        """Pods may fit where room was reserved until now."""
        now = self._parts.clock.now()
        if self._parts.kernel.advance(now):
            self._parts.queue.wake(_is_about_claims, now)

    # One pod

    def _try(self, entry: QueuedPod, bindings: asyncio.TaskGroup) -> None:
        """Everything up to the assumption, without waiting for anything."""
        parts, pod = self._parts, entry.pod
        began = parts.clock.monotonic()
        if parts.groups is not None and (obstacle := parts.groups.find_obstacle(pod)):
            self._hold_up(entry, obstacle, began)
            return
        refused = parts.refusals.nodes_refused_to(pod) if parts.refusals else ()
        decision = parts.kernel.decide(pod, attempt=entry.attempts, refused=refused)
        parts.metrics.judged(parts.clock.monotonic() - began)
        parts.metrics.capacity_used(capacity_uses(pod, parts.kernel.columns))
        if isinstance(decision, NoNode):
            self._refuse(entry, decision, began)
            return
        if parts.refusals and (pause := parts.refusals.find_pause(pod, decision.node)):
            self._pause(entry, pause, began)
            return
        choice = parts.state.assume(pod, decision.volumes, decision.node)
        if isinstance(choice, Finding):
            parts.metrics.volumes_failed(VolumeOperation.ASSUME)
            entry.reasons = frozenset({choice.reason})
            self._fail(entry, choice, began)
            return
        entry.reasons = frozenset()
        parts.state.place(pod, decision.node)
        parts.kernel.columns.reservations.decide_pod(pod.key)
        log.debug("pod placed", extra={"pod": str(pod.key), "node": decision.node})
        bindings.create_task(self._bind(entry, decision, choice, began), name=f"bind {pod.key}")

    def _hold_up(self, entry: QueuedPod, obstacle: Finding, began: float) -> None:
        """No node is looked for before something else has come to its end."""
        if obstacle.reason is Reason.CHANGED_MEANWHILE:
            entry.reasons = frozenset({obstacle.reason})
            self._fail(entry, obstacle, began)
            return
        rejected = Rejected(Rule.VOLUME_BINDING, unschedulable(obstacle))
        nodes = len(self._parts.kernel.columns.index)
        self._refuse(entry, NoNode(nodes=nodes, rejected=rejected), began)

    def _refuse(self, entry: QueuedPod, refused: NoNode, began: float) -> None:
        parts = self._parts
        message = refusal_text(refused)
        entry.reasons = frozenset(refused.reasons)
        if refused.rejected and refused.rejected.judgement.verdict is Verdict.ERROR:
            self._tell_failure(entry, message, began)
            return
        log.debug("pod refused", extra={"pod": str(entry.key), "why": message})
        parts.metrics.ended(AttemptResult.UNSCHEDULABLE, began)
        parts.reporter.not_scheduled(entry.pod, PodScheduledReason.UNSCHEDULABLE, message)
        parts.queue.refuse(entry, frozenset(refused.rules), parts.clock.now())
        parts.kernel.columns.reservations.refuse_pod(entry.key)

    def _pause(self, entry: QueuedPod, pause: RefusalPause, began: float) -> None:
        """Every node that will do has refused the pod: another attempt now would only make volumes
        and delete them. It is told once."""
        parts = self._parts
        entry.reasons = frozenset({pause.why.reason})
        parts.metrics.ended(AttemptResult.UNSCHEDULABLE, began)
        if entry.until != pause.until:
            log.debug("pod paused", extra={"pod": str(entry.key), "why": pause.why.sentence})
            message = with_code(pause.why.sentence, pause.why.reason)
            parts.reporter.not_scheduled(entry.pod, PodScheduledReason.UNSCHEDULABLE, message)
        parts.queue.pause(entry, pause.until, parts.clock.now())

    def _fail(self, entry: QueuedPod, failed: Finding | BindingFailed, began: float) -> None:
        is_conflict = failed.reason is Reason.CHANGED_MEANWHILE
        if is_conflict and entry.tries.consecutive_errors < QUIET_CONFLICTS:
            # Another pod's binding or another writer was first: nothing that a user could mend.
            log.debug("attempt overtaken", extra={"pod": str(entry.key), "why": failed.sentence})
            self._try_again(entry, began)
            return
        self._tell_failure(entry, with_code(failed.sentence, failed.reason), began)

    def _tell_failure(self, entry: QueuedPod, message: str, began: float) -> None:
        log.warning("attempt failed", extra={"pod": str(entry.key), "why": message})
        self._parts.reporter.not_scheduled(entry.pod, PodScheduledReason.SCHEDULER_ERROR, message)
        self._try_again(entry, began)

    def _try_again(self, entry: QueuedPod, began: float) -> None:
        self._parts.metrics.ended(AttemptResult.ERROR, began)
        self._parts.queue.fail(entry, self._parts.clock.now())
        self._changed.set()

    async def _bind(
        self, entry: QueuedPod, placed: Placement, choice: Choice | AllBound, began: float
    ) -> None:
        parts, pod, since = self._parts, entry.pod, self._parts.clock.now()
        try:
            failed = await parts.binder.bind(pod, placed.node, choice)
            if failed and failed.reason is Reason.PROVISIONER_REFUSED:
                failed = await self._learn(pod, placed.node, failed, since)
        except BaseException:
            # Cancelled, or a bug: whatever runs next must not find half of a decision.
            if isinstance(choice, Choice):
                parts.state.forget(choice)
            self._give_back(pod, choice)
            parts.queue.fail(entry, parts.clock.now())
            raise
        if failed is None:
            parts.metrics.ended(AttemptResult.SCHEDULED, began)
            parts.metrics.scheduled(entry)
            parts.reporter.scheduled(pod, placed.node)
            return
        if failed.stage is not BindingStage.ASSIGNING:
            parts.metrics.volumes_failed(VolumeOperation.BIND)
        self._give_back(pod, choice)
        entry.reasons = frozenset({failed.reason} if failed.reason else ())
        self._fail(entry, failed, began)

    async def _learn(
        self, pod: Pod, node: str, failed: BindingFailed, since: datetime
    ) -> BindingFailed:
        """The same, with who refused the node and why."""
        refusals = self._parts.refusals
        if refusals is None or failed.claim is None:
            return failed
        told = await refusals.learn(pod, node, failed.claim, since=since)
        return replace(failed, sentence=f"binding volumes: {told}")

    def _give_back(self, pod: Pod, choice: Choice | AllBound) -> None:
        """Others may have what this pod does not get after all.

        A volume that was written is not among it, even if the watch has yet to show that.
        """
        state = self._parts.state
        placed = state.displace(pod)
        if placed is not None:
            self._wake(placed, None)
        for binding in choice.static if isinstance(choice, Choice) else ():
            if volume := state.stores.volumes.snapshot().get(binding.volume.key):
                self._wake(binding.volume, volume)


def _is_about_claims(pod: Pod, rule: AnyRule) -> bool:
    return rule is Rule.VOLUME_BINDING and bool(pod.claims)
