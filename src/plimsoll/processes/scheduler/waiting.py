"""The pods that wait for a change to help them, found by the rules that turned them away.

Pods that a rule answers alike are kept together, so that it is asked once for all of them.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.flags import AnyRule
from plimsoll.decide.scheduling.queue.backoff import Attempts
from plimsoll.decide.scheduling.queue.likeness import likeness, spec_likeness
from plimsoll.decide.scheduling.reasons import Reason

Helps = Callable[[Pod, AnyRule], bool]


class QueuePlace(StrEnum):
    """As kube-scheduler calls its queues."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    """Being judged or bound; in no queue."""


@dataclass(slots=True)
class QueuedPod:
    pod: Pod
    added_at: datetime
    """When it could first have been tried."""
    since: datetime
    """When its last attempt ended, or when it was added."""
    place: QueuePlace
    tries: Attempts = field(default_factory=Attempts)
    attempts: int = 0
    rules: frozenset[AnyRule] = frozenset()
    """Those that turned it away; none: every change may help."""
    reasons: frozenset[Reason] = frozenset()
    """Why its last attempt came to nothing; none: it has not ended, or no code is known."""
    until: datetime | None = None
    """When it is tried again although no change may help; None: only the usual sweep does."""
    ticket: int = 0
    """The newest one; older ones do not count any more."""

    @property
    def key(self) -> ObjectKey:
        return self.pod.key


Group = dict[ObjectKey, QueuedPod]


class WaitingPods:
    def __init__(self) -> None:
        self._entries: Group = {}
        """In the order in which they came."""
        self._groups: dict[AnyRule, dict[Hashable, Group]] = {}
        self._without_rules: Group = {}
        self._likeness: dict[ObjectKey, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __iter__(self) -> Iterator[QueuedPod]:
        """The one that has waited longest first."""
        return iter(self._entries.values())

    def add(self, entry: QueuedPod) -> None:
        self._entries[entry.key] = entry
        self._group(entry)

    def remove(self, entry: QueuedPod) -> None:
        """It may have been removed before."""
        if self._entries.get(entry.key) is entry:
            del self._entries[entry.key]
            self._ungroup(entry)

    def replace_pod(self, entry: QueuedPod, pod: Pod) -> None:
        """The pod was changed; it keeps its place."""
        if self._entries.get(entry.key) is not entry:
            entry.pod = pod
            return
        self._ungroup(entry)
        entry.pod = pod
        self._group(entry)

    def helped(self, helps: Helps, rules: Collection[AnyRule]) -> list[QueuedPod]:
        """Pods which one of the rules turned away that may judge otherwise now. One of those that
        are alike is asked about for all of them."""
        found: Group = {}
        for rule in sorted(rules):
            for group in self._groups.get(rule, {}).values():
                if _is_news(group, found) and helps(next(iter(group.values())).pod, rule):
                    found |= group
        return [*found.values()]

    def refused_by(self, rule: AnyRule) -> Iterator[QueuedPod]:
        for group in self._groups.get(rule, {}).values():
            yield from group.values()

    def without_rules(self) -> list[QueuedPod]:
        """Pods that any change may help."""
        return [*self._without_rules.values()]

    def _group(self, entry: QueuedPod) -> None:
        if not entry.rules:
            self._without_rules[entry.key] = entry
            return
        spec = self._likeness[entry.key] = spec_likeness(entry.pod)
        for rule in entry.rules:
            groups = self._groups.setdefault(rule, {})
            groups.setdefault(likeness(rule, entry.pod, spec), {})[entry.key] = entry

    def _ungroup(self, entry: QueuedPod) -> None:
        self._without_rules.pop(entry.key, None)
        spec = self._likeness.pop(entry.key, b"")
        for rule in entry.rules:
            groups, alike = self._groups[rule], likeness(rule, entry.pod, spec)
            del groups[alike][entry.key]
            if not groups[alike]:
                del groups[alike]


def _is_news(group: Iterable[ObjectKey], found: Group) -> bool:
    return any(key not in found for key in group)
