"""Which volumes were decided on and may be in no report of their driver yet.

A claim reserves room from the moment that a node is selected for it until its volume is counted in.
Each earlier attempt for it reserves as well, until its intent ends: the driver may have that volume
too. Everything follows from what is written in the cluster: the selected node on the claim, the
intents of the provisioner, the volume with its token; so a scheduler that starts anew forgets
nothing of that.

What this scheduler has selected itself reserves for a limited time if no provisioner begins, and a
little longer than the pod lives: provisioners act upon it without looking at pods. If it selects
again and again, and no provisioner ever begins, the later decisions reserve for a short time each.

Tenants can write a selected node too. What another writer has selected, be it the scheduler before
this one, reserves only while a live pod uses the claim that is not gated, for a limited time in the
whole life of the claim, and if the pool could hold the volume; and of each pod only so many claims
do. So a tenant reserves no more than their claims could have as volumes, which quotas count, and no
claim does for long.

An attempt that is left to an administrator reserves until reports count in what there is of it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.match import bytes_of
from plimsoll.decide.scheduling.reservations.attempts import OpenAttempt, find_attempt, find_current
from plimsoll.decide.scheduling.reservations.deadlines import (
    UNORDERED,
    ReservationDeadlines,
    ReservationWait,
)
from plimsoll.decide.scheduling.reservations.open_attempts import OpenAttempts, wait_for_reports
from plimsoll.decide.scheduling.reservations.reservation import (
    DISMISSED,
    WANTED,
    RecordedVolume,
    Reservation,
    ReservationKey,
)
from plimsoll.decide.scheduling.reservations.selections import (
    Selections,
    selection_of,
    wait_for_intent,
)
from plimsoll.decide.scheduling.reservations.users import ChangedUsers, ClaimUsers
from plimsoll.decide.scheduling.reservations.volumes import RecordedVolumes, reported_by

NOTHING: Mapping[ReservationKey, Reservation] = {}
REMEMBERED = 4096
"""Changes."""
NEVER = datetime.max.replace(tzinfo=UTC)


class _ClaimRecords(NamedTuple):
    """What is written about one claim."""

    selected: PersistentVolumeClaim | None
    """None: no node is selected for it, or it is gone."""
    claim: PersistentVolumeClaim | None
    """As it is, or else as it was when the driver was asked."""
    volumes: Sequence[PersistentVolume]
    attempts: Mapping[ObjectKey, OpenAttempt]
    current: OpenAttempt | None
    """The attempt whose volume it is to get."""

    @property
    def is_begun(self) -> bool:
        return bool(self.volumes) or self.current is not None


class ReservationIndex:
    """Takes objects as they come, change and go, and is told the time."""

    def __init__(self) -> None:
        self.by_key: dict[ReservationKey, Reservation] = {}
        self._found: dict[ObjectKey, Mapping[ReservationKey, Reservation]] = {}
        """The same, by claim."""
        self._freed: set[str] = set()
        """Storage classes, see `take_freed`."""
        self._changes: list[ReservationKey] = []
        self._forgotten = 0
        self._claims: dict[ObjectKey, PersistentVolumeClaim] = {}
        """Those for which a node is selected."""
        self.selections = Selections()
        self._users = ClaimUsers()
        self.volumes = RecordedVolumes()
        self.attempts = OpenAttempts()

    @property
    def deadlines(self) -> ReservationDeadlines:
        return self.selections.deadlines

    def advance(self, now: datetime) -> dict[ObjectKey, frozenset[str]]:
        """Claims whose reservation may have ended by the time that has passed, with the storage
        classes of what was reserved for them."""
        passed: dict[ObjectKey, frozenset[str]] = {}
        for key in self.deadlines.advance(now):
            reserved = self._found.get(key, {}).values()
            passed[key] = frozenset(each.storage_class for each in reserved)
            # Whether reports without tokens count the volume in hangs on the time alone.
            self._derive(key)
            for each in self._found.get(key, ()):
                self._mark(each)
        return passed

    def put_claim(self, claim: PersistentVolumeClaim) -> None:
        key = claim.key
        self.selections.forget_namesake(claim)
        if SELECTED_NODE in claim.annotations:
            known = self._claims.get(key)
            if known is None or selection_of(known) != selection_of(claim):
                self.selections.forget_decided(key)
            self._claims[key] = claim
            self._derive(key)
        else:
            self._take_off(key)

    def remove_claim(self, key: ObjectKey) -> None:
        self._take_off(key)
        self.selections.forget_claim(key)

    def _take_off(self, key: ObjectKey) -> None:
        """No node is selected for it."""
        known = self._claims.pop(key, None)
        if known is not None:
            if key in self._users:
                self.selections.dismiss(known)
            self.selections.forget_decided(key)
            self._derive(key)

    def put_pod(self, pod: Pod) -> None:
        self._change_users(self._users.put(pod))

    def remove_pod(self, key: ObjectKey) -> None:
        self._change_users(self._users.remove(key))

    def _change_users(self, changed: ChangedUsers) -> None:
        for claim in changed.newly_used:
            self.deadlines.restore(ReservationWait(claim))
        for claim in changed.claims:
            if claim in self._claims or claim in self.selections.dismissed:
                self._derive(claim)

    def decide_pod(self, key: ObjectKey) -> None:
        """This scheduler has placed it, after it has selected the node for its claims."""
        for claim in self._users.claims_of(key):
            if claim in self._claims:
                self.selections.decide(self._claims[claim])
                self._derive(claim)

    def refuse_pod(self, key: ObjectKey) -> None:
        """The scheduler has found no node for it: what was selected for its claims before was not
        its decision, or cannot be carried out."""
        for claim in self._users.claims_of(key):
            if not self._users.is_placed(claim):
                self.deadlines.shorten(self.selections.wait(claim))

    def put_volume(self, volume: PersistentVolume, reports: int = 0) -> None:
        """`reports` of capacity there have been so far."""
        old, claim = self.volumes.claim_of(volume.name), volume.spec.claim
        if old is not None and old != claim:
            self.remove_volume(volume.name)
        if claim is not None:
            self.deadlines.remind(claim, reported_by(volume))
            self.volumes.put(volume, claim, reports)
            self._derive(claim)

    def remove_volume(self, name: str) -> None:
        claim = self.volumes.remove(name)
        if claim is not None:
            self._derive(claim)

    def put_record(self, lease: Lease, reports: int = 0) -> None:
        """`reports` of capacity there have been so far."""
        attempt = find_attempt(lease)
        if attempt is None:
            self.remove_record(lease.key)
            return
        if self.attempts.claim_of(lease.key) not in (None, attempt.claim.key):
            self.remove_record(lease.key)
        if self.attempts.put(attempt, reports):
            self.deadlines.forget(wait_for_reports(attempt))
        self._derive(attempt.claim.key)

    def remove_record(self, key: ObjectKey) -> None:
        attempt = self.attempts.remove(key)
        if attempt is not None:
            self.deadlines.forget(wait_for_reports(attempt))
            self._derive(attempt.claim.key)

    def _derive(self, key: ObjectKey) -> None:
        """Work out what is reserved for the claim."""
        is_known = key in self._claims or key in self._found or key in self.selections.dismissed
        if not is_known and not self.attempts.of(key):
            self.deadlines.pause(ReservationWait(key))
            return
        records = self._read(key)
        claim = records.selected
        if claim is not None and records.volumes:
            self.selections.record(key)
        for attempt in records.attempts.values():
            self.selections.begin(key, attempt.node)
        waits = claim is not None and self._may_be_begun(key) and not records.is_begun
        if not waits:
            self.deadlines.pause(ReservationWait(key))
        elif claim is not None and key not in self.selections.decided:
            self.selections.note_other(claim)
        found = self._reservations(key, records)
        if waits and ReservationKey(key) in found:
            self._begin(key)
        self._replace(key, found)

    def _replace(self, key: ObjectKey, found: Mapping[ReservationKey, Reservation]) -> None:
        before = self._found.pop(key, NOTHING)
        if found:
            self._found[key] = found
        if before == found:
            return
        if before:
            self._freed |= _freed_classes(before.values(), found.values())
        for each in dict.fromkeys((*before, *found)):
            if before.get(each) != found.get(each):
                self._put(each, found.get(each))

    def _read(self, key: ObjectKey) -> _ClaimRecords:
        selected, attempts = self._claims.get(key), self.attempts.of(key)
        current = find_current(attempts.values(), selected) if attempts else None
        claim = current.claim if selected is None and current is not None else selected
        volumes = () if claim is None else self.volumes.of(claim)
        return _ClaimRecords(selected, claim, volumes, attempts, current)

    def _begin(self, key: ObjectKey) -> None:
        """It waits for its provisioner."""
        wait = self.selections.wait(key)
        self.deadlines.begin(wait)
        if key not in self._users and key not in self.selections.decided:
            # What was decided here is carried out without the pod, when its provisioner is back.
            self.deadlines.shorten(wait)

    def _put(self, key: ReservationKey, found: Reservation | None) -> None:
        self.by_key.pop(key, None)
        if found is not None:
            self.by_key[key] = found
        self._mark(key)

    def take_freed(self) -> frozenset[str]:
        """The storage classes for whose claims less is reserved at some node than when this was
        last asked, or was in between."""
        freed, self._freed = self._freed, set()
        return frozenset(freed)

    @property
    def position(self) -> int:
        """How many changes there were."""
        return self._forgotten + len(self._changes)

    def changed_since(self, position: int) -> Iterable[ReservationKey]:
        """Reservations that are others; all, if there were too many changes to tell."""
        if position < self._forgotten:
            return [*self.by_key, *self._changes]
        return self._changes[position - self._forgotten :]

    def _mark(self, key: ReservationKey) -> None:
        if len(self._changes) >= REMEMBERED:
            half = len(self._changes) // 2
            self._forgotten += half
            del self._changes[:half]
        self._changes.append(key)

    def _reservations(
        self, key: ObjectKey, records: _ClaimRecords
    ) -> dict[ReservationKey, Reservation]:
        found = {
            ReservationKey(key, lease): self._of_attempt(attempt)
            for lease, attempt in (sorted(records.attempts.items()) if records.attempts else ())
            if attempt is not records.current and not self._is_counted_in(attempt)
        }
        if (dismissed := self._dismissed(key)) is not None:
            found[ReservationKey(key, DISMISSED)] = dismissed
        wanted = self._wanted(key, records)
        if wanted is not None:
            found[ReservationKey(key)] = wanted
        return found

    def _dismissed(self, key: ObjectKey) -> Reservation | None:
        """For what may have been begun before the node was taken off."""
        claim = self.selections.dismissed.get(key)
        if claim is not None and self.deadlines.is_over(wait_for_intent(claim)):
            self.selections.forget_dismissed(key)
            return None
        if claim is None or key not in self._users:
            return None
        size = bytes_of(claim.spec.resources.requests)
        return Reservation(key, claim.storage_class, size, claim.annotations[SELECTED_NODE], None)

    def _wanted(self, key: ObjectKey, records: _ClaimRecords) -> Reservation | None:
        """For the volume that the claim is to get."""
        claim, current = records.claim, records.current
        if claim is None:
            return None
        node = claim.annotations.get(SELECTED_NODE, "")
        size = bytes_of(claim.spec.resources.requests)
        recorded, must_fit = None, False
        if records.volumes:
            size = max(size, *(bytes_of(each.spec.capacity) for each in records.volumes))
            recorded = self.volumes.recorded(records.volumes, self.deadlines)
            has_ended = recorded is None
        elif current is None:
            is_over = self.deadlines.is_over(self.selections.wait(key))
            has_ended = is_over or not self._may_be_begun(key)
            must_fit = key not in self.selections.decided
        else:
            node, has_ended = current.node or node, self._is_counted_in(current)
            recorded = self._left_volume(current)
        if has_ended:
            return None
        return Reservation(key, claim.storage_class, size, node, recorded, must_fit)

    def _of_attempt(self, attempt: OpenAttempt) -> Reservation:
        """While the driver may still make or delete the volume, nothing tells whether a report
        counts it in: a report that does counts it twice."""
        claim, recorded = attempt.claim, self._left_volume(attempt)
        size = bytes_of(claim.spec.resources.requests)
        return Reservation(claim.key, claim.storage_class, size, attempt.node, recorded)

    def _is_counted_in(self, attempt: OpenAttempt) -> bool:
        return attempt.is_left and self.deadlines.is_over(wait_for_reports(attempt))

    def _left_volume(self, attempt: OpenAttempt) -> RecordedVolume | None:
        """What there is of one that is left to an administrator; None: it is not."""
        if not attempt.is_left:
            return None
        self.deadlines.begin(wait_for_reports(attempt), UNORDERED)
        return RecordedVolume(None, self.attempts.reports_before_left[attempt.lease], NEVER)

    def _may_be_begun(self, key: ObjectKey) -> bool:
        """A live pod waits for it, or did when the node was selected by this scheduler."""
        return key in self._users or key in self.selections.decided

    def since(self, key: ReservationKey) -> datetime | None:
        """When its volume was recorded, or else begun; None: nothing tells."""
        attempts = self.attempts.of(key.claim)
        if key.attempt == DISMISSED:
            return None
        if key.attempt != WANTED:
            return attempts[key.attempt].begun_at
        recorded = self.volumes.naming(key.claim)
        times = [volume.metadata.creation_timestamp for volume in recorded]
        current = find_current(attempts.values(), self._claims.get(key.claim))
        times += [] if current is None else [current.begun_at]
        return min((time for time in times if time is not None), default=None)

    def take_over(self, other: "ReservationIndex") -> None:
        """After the same objects were put: what the other has seen and no object tells."""
        self.selections = other.selections.only(self._claims)
        self.volumes.reports_before |= other.volumes.reports_before
        self.attempts.reports_before_left |= other.attempts.reports_before_left
        known = (*self._claims, *self.volumes.claims(), *self.attempts.claims())
        for key in dict.fromkeys((*known, *self.selections.dismissed)):
            self._derive(key)

    def fork(self) -> "ReservationIndex":
        twin = ReservationIndex()
        twin.by_key, twin._found = self.by_key.copy(), self._found.copy()
        twin._freed, twin._claims = self._freed.copy(), self._claims.copy()
        twin.selections, twin._users = self.selections.fork(), self._users.fork()
        twin.volumes, twin.attempts = self.volumes.fork(), self.attempts.fork()
        return twin


def _freed_classes(before: Iterable[Reservation], after: Iterable[Reservation]) -> set[str]:
    """A reservation that takes the place of another one frees nothing."""
    freed: Counter[tuple[str, str]] = Counter()
    for each in before:
        freed[each.storage_class, each.node] += each.size
    for each in after:
        freed[each.storage_class, each.node] -= each.size
    return {class_ for (class_, _), size in freed.items() if size > 0}
