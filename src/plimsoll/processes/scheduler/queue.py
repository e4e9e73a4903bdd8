"""The pods that wait: to be tried, for a pause to end, for a change that helps, or for a gate.

A pod is in exactly one place. Those to be tried come in the order of priority and time. One that
no node was good enough for is left alone until a change can help it; it then still waits out its
pause, unless no other pod is there to be tried. One that every node refused is also tried again at
a certain time; a change that comes before never ends its pause early, for almost any change may
help it. Whatever was missed, after five minutes every pod is tried again. Nothing here waits or
looks at a clock.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import heappop, heappush

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.flags import RULES, AnyRule, NodeRule
from plimsoll.decide.scheduling.policy import scheduler_of
from plimsoll.decide.scheduling.queue.backoff import Attempts, PodBackoff
from plimsoll.decide.scheduling.queue.order import Turn, turn_of
from plimsoll.decide.scheduling.queue.wakeups import ClusterChange, helps_itself
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.processes.scheduler.waiting import Helps, QueuedPod, QueuePlace, WaitingPods

SWEEP_AFTER = timedelta(minutes=5)


class Cause(StrEnum):
    """What brings a pod into a queue."""

    ADDED = "PodAdd"
    CHANGED = "PodUpdate"
    HELPED = "ClusterChange"
    REFUSED = "ScheduleAttemptFailure"
    PAUSE_OVER = "BackoffComplete"
    SWEPT = "UnschedulableTimeout"


@dataclass(order=True, slots=True)
class _Ticket:
    """A place in a heap. It counts only while the pod is where the ticket was given out."""

    turn: Turn | datetime
    number: int
    entry: QueuedPod = field(compare=False)


class SchedulingQueue:
    def __init__(
        self,
        backoff: PodBackoff | None = None,
        *,
        on_entry: Callable[[QueuePlace, Cause], None] = lambda _place, _cause: None,
    ) -> None:
        self._backoff = backoff or PodBackoff()
        self._on_entry = on_entry
        self._entries: dict[ObjectKey, QueuedPod] = {}
        self._unschedulable = WaitingPods()
        self._active: list[_Ticket] = []
        self._pausing: list[_Ticket] = []
        self._early: list[_Ticket] = []
        self._awaited: list[_Ticket] = []
        """Of those that are tried again at a certain time, unless a change wakes them before."""
        self._number = 0

    def counts(self) -> dict[QueuePlace, int]:
        counted = Counter(entry.place for entry in self._entries.values())
        return {place: counted[place] for place in QueuePlace}

    def unschedulable_by_rule(self) -> Counter[tuple[AnyRule, str]]:
        """And by the scheduler that the pod names."""
        return Counter(
            (rule, scheduler_of(entry.pod)) for entry in self._unschedulable for rule in entry.rules
        )

    def unschedulable_by_reason(self) -> Counter[Reason]:
        """A pod counts once for each reason."""
        return Counter(reason for entry in self._entries.values() for reason in entry.reasons)

    def find(self, key: ObjectKey) -> QueuedPod | None:
        return self._entries.get(key)

    # Pods come, change and go

    def put(self, pod: Pod, now: datetime) -> None:
        """A pod without a node is there. What was known of a namesake is forgotten."""
        entry = self._entries.get(pod.key)
        if entry is None or entry.pod.uid != pod.uid:
            self.remove(pod.key)
            self._admit(pod, now)
            return
        helps = _may_help(entry, pod)
        self._unschedulable.replace_pod(entry, pod)
        match entry.place:
            case QueuePlace.GATED if not pod.spec.scheduling_gates:
                entry.added_at = entry.since = now
                self._enter(entry, QueuePlace.ACTIVE, Cause.CHANGED)
            case QueuePlace.UNSCHEDULABLE if helps:
                self._wake(entry, now, Cause.CHANGED)
            case _:
                pass

    def _admit(self, pod: Pod, now: datetime) -> None:
        entry = QueuedPod(pod=pod, added_at=now, since=now, place=QueuePlace.IN_FLIGHT)
        self._entries[pod.key] = entry
        place = QueuePlace.GATED if pod.spec.scheduling_gates else QueuePlace.ACTIVE
        self._enter(entry, place, Cause.ADDED)

    def remove(self, key: ObjectKey) -> None:
        """The pod is gone, has its node, or belongs to another scheduler."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._unschedulable.remove(entry)
            entry.place = QueuePlace.IN_FLIGHT

    # Attempts

    def pop(self, now: datetime) -> QueuedPod | None:
        """The next to be tried; its attempt must be ended by `refuse`, `fail` or `remove`."""
        self.flush(now)
        # If no other pod is there, a pause would help none.
        entry = self._pop_from(self._active) or self._pop_from(self._early)
        if entry is not None:
            entry.place, entry.ticket = QueuePlace.IN_FLIGHT, 0
            entry.attempts += 1
        return entry

    def _pop_from(self, heap: list[_Ticket]) -> QueuedPod | None:
        while heap:
            ticket = heappop(heap)
            if self._is_valid(ticket):
                return ticket.entry
        return None

    def refuse(self, entry: QueuedPod, rules: frozenset[AnyRule], now: datetime) -> None:
        """No node would do, because of these rules."""
        self._turn_away(entry, rules, now)

    def pause(self, entry: QueuedPod, until: datetime, now: datetime) -> None:
        """Try it again then, or at its pace when anything changes that may help a pod."""
        self._turn_away(entry, frozenset(), now, until)

    def _turn_away(
        self,
        entry: QueuedPod,
        rules: frozenset[AnyRule],
        now: datetime,
        until: datetime | None = None,
    ) -> None:
        if not self._is_current(entry):
            return
        entry.rules, entry.since, entry.until = rules, now, until
        entry.tries = Attempts(unschedulable=entry.tries.unschedulable + 1)
        self._enter(entry, QueuePlace.UNSCHEDULABLE, Cause.REFUSED)

    def fail(self, entry: QueuedPod, now: datetime) -> None:
        """The attempt came to nothing for a reason that may pass: try again after a pause."""
        if not self._is_current(entry):
            return
        entry.rules, entry.since, entry.until = frozenset(), now, None
        entry.tries = Attempts(
            unschedulable=entry.tries.unschedulable,
            consecutive_errors=entry.tries.consecutive_errors + 1,
        )
        self._enter(entry, QueuePlace.BACKOFF, Cause.REFUSED)

    # Time and other objects

    def wake(self, helps: Helps, now: datetime, *, rules: Collection[AnyRule] = RULES) -> int:
        """Something changed that may help pods which these rules turned away; how many woke? Pods
        that no rule in particular turned away wake as well."""
        woken = self._unschedulable.helped(helps, rules) + self._unschedulable.without_rules()
        return len(self._wake_all(woken, now))

    def wake_after(self, change: ClusterChange, helps: Helps, now: datetime) -> list[ObjectKey]:
        """The same after a change of the cluster, which `helps` knows; one of the pods that are
        alike stands for all. Which pods woke?"""
        waiting = self._unschedulable
        woken = waiting.helped(helps, change.rules)
        if change.avoiding:
            refused = waiting.refused_by(NodeRule.POD_AFFINITY)
            woken += [entry for entry in refused if change.ends_avoidance(entry.pod)]
        if not change.only_takes:
            woken += waiting.without_rules()
        return self._wake_all(woken, now)

    def _wake_all(self, woken: Iterable[QueuedPod], now: datetime) -> list[ObjectKey]:
        """In the order in which they came."""
        by_ticket = {entry.ticket: entry for entry in woken}
        in_order = [by_ticket[ticket] for ticket in sorted(by_ticket)]
        for entry in in_order:
            self._wake(entry, now, Cause.HELPED)
        return [entry.key for entry in in_order]

    def flush(self, now: datetime) -> None:
        """Let out those whose time has come."""
        while self._pausing and (not self._is_valid(self._pausing[0]) or self._is_free(now)):
            ticket = heappop(self._pausing)
            if self._is_valid(ticket):
                self._enter(ticket.entry, QueuePlace.ACTIVE, Cause.PAUSE_OVER)
        while self._awaited and (not self._is_valid(self._awaited[0]) or self._is_due(now)):
            ticket = heappop(self._awaited)
            if self._is_valid(ticket):
                self._enter(ticket.entry, QueuePlace.ACTIVE, Cause.PAUSE_OVER)
        # They are in the order of `since`: the first is due first.
        for entry in [*self._overdue(now)]:
            self._wake(entry, now, Cause.SWEPT)

    def next_due(self) -> datetime | None:
        """When `flush` will have something to do."""
        while self._pausing and not self._is_valid(self._pausing[0]):
            heappop(self._pausing)
        while self._awaited and not self._is_valid(self._awaited[0]):
            heappop(self._awaited)
        first = (*self._pausing[:1], *self._awaited[:1])
        times = [ticket.turn for ticket in first if isinstance(ticket.turn, datetime)]
        if self._unschedulable:
            times.append(next(iter(self._unschedulable)).since + SWEEP_AFTER)
        return min(times, default=None)

    def _overdue(self, now: datetime) -> Iterator[QueuedPod]:
        for entry in self._unschedulable:
            if entry.since + SWEEP_AFTER > now:
                return
            yield entry

    def _is_free(self, now: datetime) -> bool:
        turn = self._pausing[0].turn
        return isinstance(turn, datetime) and turn <= now

    def _is_due(self, now: datetime) -> bool:
        turn = self._awaited[0].turn
        return isinstance(turn, datetime) and turn <= now

    def _wake(self, entry: QueuedPod, now: datetime, cause: Cause) -> None:
        is_over = self._backoff.is_over(entry.tries, entry.since, now)
        self._enter(entry, QueuePlace.ACTIVE if is_over else QueuePlace.BACKOFF, cause)

    def _enter(self, entry: QueuedPod, place: QueuePlace, cause: Cause) -> None:
        self._unschedulable.remove(entry)
        self._number += 1
        entry.place, entry.ticket = place, self._number
        if place is QueuePlace.ACTIVE:
            self._give_ticket(self._active, entry, turn_of(entry.pod, entry.since))
        elif place is QueuePlace.BACKOFF:
            self._give_ticket(self._pausing, entry, self._free_at(entry))
            if not entry.tries.consecutive_errors and entry.until is None:
                self._give_ticket(self._early, entry, turn_of(entry.pod, entry.since))
        elif place is QueuePlace.UNSCHEDULABLE:
            self._unschedulable.add(entry)
            if entry.until is not None:
                self._give_ticket(self._awaited, entry, entry.until)
        self._on_entry(place, cause)

    def _free_at(self, entry: QueuedPod) -> datetime:
        free_at = self._backoff.free_at(entry.tries, entry.since) or entry.since
        return free_at if entry.until is None else min(free_at, entry.until)

    def _give_ticket(self, heap: list[_Ticket], entry: QueuedPod, turn: Turn | datetime) -> None:
        heappush(heap, _Ticket(turn, entry.ticket, entry))

    def _is_valid(self, ticket: _Ticket) -> bool:
        return ticket.entry.ticket == ticket.number and self._is_current(ticket.entry)

    def _is_current(self, entry: QueuedPod) -> bool:
        return self._entries.get(entry.key) is entry


def _may_help(entry: QueuedPod, after: Pod) -> bool:
    """Whether something else is asked for that a rule cares for which turned the pod away. Our own
    notes in the status are no reason to wake it."""
    before = entry.pod
    if before.spec == after.spec and before.labels == after.labels:
        return False
    return not entry.rules or any(helps_itself(rule, before, after) for rule in entry.rules)
