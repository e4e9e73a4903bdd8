"""Takes one pod after the other, has it judged, and starts its binding; then takes the next.

Between the first look at the cluster and the assumption of what was decided nothing else happens,
so that no two decisions contradict each other. Binding goes on beside it, for as long as it takes.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.binding.bind_volumes import AllBound, Choice
from plimsoll.decide.scheduling.flags import AnyRule
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.preemption.eligibility import NotEligible
from plimsoll.decide.scheduling.preemption.messages import preemption_text
from plimsoll.decide.scheduling.preemption.preemptor import NoPreemption, Preemption
from plimsoll.decide.scheduling.queue.affinity_wakeups import terms_of_others
from plimsoll.decide.scheduling.queue.capacity_wakeups import drivers_of, shares_capacity
from plimsoll.decide.scheduling.queue.wakeups import ClusterChange, concerns, may_help_any_pod
from plimsoll.decide.scheduling.reasons import Finding, Reason, Rule, Verdict, unschedulable
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.volume_binding.capacity_use import capacity_uses
from plimsoll.processes.scheduler.binding.binder import Binder, BindingFailed, BindingStage
from plimsoll.processes.scheduler.binding.groups import Groups
from plimsoll.processes.scheduler.events import (
    PodRefusal,
    PodScheduledReason,
    refusal_text,
    with_code,
)
from plimsoll.processes.scheduler.evictions import Evictions
from plimsoll.processes.scheduler.metrics import AttemptResult, SchedulerMetrics, VolumeOperation
from plimsoll.processes.scheduler.queue import SchedulingQueue
from plimsoll.processes.scheduler.refusals import RefusalLearner, RefusalPause
from plimsoll.processes.scheduler.reporter import Reporter
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.processes.scheduler.waiting import QueuedPod
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
    evictions: Evictions
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
                # One change may replace a pod by its namesake.
                for pod in (before, after):
                    if pod is not None:
                        self._parts.groups.observe_pod(pod.uid)
        if may_help_any_pod(before, after):
            self._wake(before, after)
        self._wake_for_capacity()

    def _observe_pod(self, key: ObjectKey) -> None:
        queue = self._parts.queue
        seen = self._parts.state.stores.pod(key)
        nominations = self._parts.kernel.columns.nominations
        if seen is None or seen.spec.node_name or seen.is_being_deleted:
            queue.remove(key)
            nominations.remove(key)
        elif self._is_ours(seen):
            queue.put(seen, self._parts.clock.now())
            if not self._parts.state.is_placed(key):
                nominations.put(seen)
            self._changed.set()

    def _wake(self, before: ApiObject | None, after: ApiObject | None) -> None:
        kernel = self._parts.kernel
        change = ClusterChange.of(before, after, terms_of_others(kernel.columns))

        def may_help(pod: Pod, rule: AnyRule) -> bool:
            asked = kernel.profile_of(pod).as_judged(pod, rule)
            return change.helps_alike(rule, asked) and concerns(pod, before, after, kernel.columns)

        woken = self._parts.queue.wake_after(change, may_help, self._parts.clock.now())
        if woken:
            self._changed.set()
        if woken and log.isEnabledFor(logging.DEBUG):
            _tell_woken(woken, after or before)

    def _wake_for_capacity(self, ended: frozenset[str] = frozenset()) -> None:
        """Pods may fit where something else was decided, or begun, until now, or where the time has
        ended the reservations of volumes of these storage classes."""
        kernel = self._parts.kernel
        freed = kernel.columns.reservations.take_freed() | ended
        if not freed:
            return
        drivers = drivers_of(freed, kernel.columns)

        def may_help(pod: Pod, rule: AnyRule) -> bool:
            return _is_about_claims(pod, rule) and shares_capacity(pod, drivers, kernel.columns)

        if self._parts.queue.wake(may_help, self._parts.clock.now()):
            self._changed.set()

    def _let_time_pass(self) -> None:
        """Pods may fit where room was reserved until now."""
        self._wake_for_capacity(self._parts.kernel.advance(self._parts.clock.now()))

    # One pod

    def _try(self, entry: QueuedPod, bindings: asyncio.TaskGroup) -> None:
        """Everything up to the assumption, without waiting for anything."""
        parts, pod = self._parts, entry.pod
        began = parts.clock.monotonic()
        if parts.groups is not None and (obstacle := parts.groups.find_obstacle(pod)):
            self._hold_up(entry, obstacle, began)
            return
        refused = parts.refusals.nodes_to_try_last(pod) if parts.refusals else ()
        decision = parts.kernel.decide(pod, attempt=entry.attempts, refused=refused)
        parts.metrics.judged(parts.clock.monotonic() - began)
        parts.metrics.capacity_used(capacity_uses(pod, parts.kernel.columns))
        if isinstance(decision, NoNode):
            self._refuse_or_preempt(entry, decision, began, bindings)
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
        if placed := parts.state.place(pod, decision.node):
            # Pods that want this one near them are judged beside it from now on.
            self._wake(pod, placed)
        parts.kernel.columns.nominations.remove(pod.key)
        parts.kernel.columns.reservations.decide_pod(pod.key)
        log.debug("pod placed", extra={"pod": str(pod.key), "node": decision.node})
        bindings.create_task(self._bind(entry, decision, choice, began), name=f"bind {pod.key}")

    def _refuse_or_preempt(
        self, entry: QueuedPod, refused: NoNode, began: float, evictions: asyncio.TaskGroup
    ) -> None:
        """Where no node will do, less important pods may have to leave one."""
        parts, pod = self._parts, entry.pod
        if not may_preempt(refused):
            parts.kernel.columns.nominations.nominate(pod, "")
            self._refuse(entry, refused, began, nominated="")
            return
        if not parts.kernel.profile_of(pod).preempts:
            self._refuse(entry, refused, began)
            return
        if parts.evictions.is_under_way(pod):
            waiting = preemption_text(NotEligible.VICTIMS_LEAVING)
            self._refuse(entry, replace(refused, preemption=waiting), began)
            return
        # Where no volume was to be had, the place that pods leave would stay empty.
        avoided = parts.refusals.nodes_refused_to(pod) if parts.refusals else ()
        outcome = parts.kernel.preempt(refused, attempt=entry.attempts, avoided=avoided)
        parts.metrics.preemption_tried()
        refused = replace(refused, preemption=outcome.message)
        match outcome:
            case NoPreemption(keeps_nomination=True):
                self._refuse(entry, refused, began)
            case NoPreemption():
                parts.kernel.columns.nominations.nominate(pod, "")
                self._refuse(entry, refused, began, nominated="")
            case Preemption():
                self._preempt(entry, outcome, evictions)
                self._refuse(entry, refused, began, nominated=outcome.node)
            case _:
                assert_never(outcome)

    def _preempt(
        self, entry: QueuedPod, preemption: Preemption, evictions: asyncio.TaskGroup
    ) -> None:
        parts, pod = self._parts, entry.pod
        nominations = parts.kernel.columns.nominations
        nominations.nominate(pod, preemption.node)
        for loser in preemption.losers:
            nominations.nominate(loser, "")
        parts.metrics.preempted(preemption)
        parts.evictions.begin(pod, preemption)
        evictions.create_task(self._evict(pod, preemption), name=f"evict for {pod.key}")

    async def _evict(self, pod: Pod, preemption: Preemption) -> None:
        parts = self._parts
        if await parts.evictions.carry_out(pod, preemption):
            return
        # Maybe no victim was told to leave: then no end of a pod wakes it.
        if parts.queue.wake(lambda each, _: each.uid == pod.uid, parts.clock.now()):
            self._changed.set()

    def _hold_up(self, entry: QueuedPod, obstacle: Finding, began: float) -> None:
        """No node is looked for before something else has come to its end."""
        if obstacle.reason is Reason.CHANGED_MEANWHILE:
            entry.reasons = frozenset({obstacle.reason})
            self._fail(entry, obstacle, began)
            return
        rejected = Rejected(Rule.VOLUME_BINDING, unschedulable(obstacle))
        nodes = len(self._parts.kernel.columns.index)
        self._refuse(entry, NoNode(nodes=nodes, rejected=rejected), began)

    def _refuse(
        self, entry: QueuedPod, refused: NoNode, began: float, nominated: str | None = None
    ) -> None:
        parts = self._parts
        message = refusal_text(refused)
        entry.reasons = frozenset(refused.reasons)
        if refused.rejected and refused.rejected.judgement.verdict is Verdict.ERROR:
            self._tell_failure(entry, message, began)
            return
        rules = sorted(refused.rules)
        log.debug("pod refused", extra={"pod": str(entry.key), "why": message, "rules": rules})
        parts.metrics.ended(entry.pod, AttemptResult.UNSCHEDULABLE, began)
        told = PodRefusal(PodScheduledReason.UNSCHEDULABLE, message, nominated)
        parts.reporter.not_scheduled(entry.pod, told)
        parts.queue.refuse(entry, frozenset(refused.rules), parts.clock.now())
        parts.kernel.columns.reservations.refuse_pod(entry.key)

    def _pause(self, entry: QueuedPod, pause: RefusalPause, began: float) -> None:
        """Every node that will do has refused the pod: another attempt now would only make volumes
        and delete them. It is told once."""
        parts = self._parts
        entry.reasons = frozenset({pause.why.reason})
        parts.metrics.ended(entry.pod, AttemptResult.UNSCHEDULABLE, began)
        if entry.until != pause.until:
            log.debug("pod paused", extra={"pod": str(entry.key), "why": pause.why.sentence})
            message = with_code(pause.why.sentence, pause.why.reason)
            told = PodRefusal(PodScheduledReason.UNSCHEDULABLE, message)
            parts.reporter.not_scheduled(entry.pod, told)
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
        """Whatever went wrong, no node is promised to the pod any more."""
        log.warning("attempt failed", extra={"pod": str(entry.key), "why": message})
        self._parts.kernel.columns.nominations.nominate(entry.pod, "")
        told = PodRefusal(PodScheduledReason.SCHEDULER_ERROR, message, nominated="")
        self._parts.reporter.not_scheduled(entry.pod, told)
        self._try_again(entry, began)

    def _try_again(self, entry: QueuedPod, began: float) -> None:
        self._parts.metrics.ended(entry.pod, AttemptResult.ERROR, began)
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
            parts.metrics.ended(pod, AttemptResult.SCHEDULED, began)
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
        if (waiting := self._parts.queue.find(pod.key)) is not None:
            self._parts.kernel.columns.nominations.put(waiting.pod)
        for binding in choice.static if isinstance(choice, Choice) else ():
            if volume := state.stores.volumes.snapshot().get(binding.volume.key):
                self._wake(binding.volume, volume)
        self._wake_for_capacity()


def _tell_woken(woken: list[ObjectKey], changed: ApiObject | None) -> None:
    by = f"{type(changed).__name__} {changed.key}" if changed is not None else ""
    for key in woken:
        log.debug("pod woken", extra={"pod": str(key), "by": by})


def _is_about_claims(pod: Pod, rule: AnyRule) -> bool:
    return rule is Rule.VOLUME_BINDING and bool(pod.claims)


def may_preempt(refused: NoNode) -> bool:
    """Not where no decision was possible, or there is no node at all."""
    is_error = refused.rejected and refused.rejected.judgement.verdict is Verdict.ERROR
    return bool(refused.nodes) and not is_error
