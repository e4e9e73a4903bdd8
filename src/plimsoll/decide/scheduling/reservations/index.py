"""Which volumes were decided on and may be in no report of their driver yet.

A claim reserves room from the moment that a node is selected for it until its volume is counted in.
Each earlier attempt for it reserves as well, until its intent ends: the driver may have that volume
too. Everything follows from what is written in the cluster: the selected node on the claim, the
intents of the provisioner, the volume with its token; so a scheduler that starts anew forgets
nothing of that.

What this scheduler has selected itself reserves for a limited time if no provisioner begins, and a
little longer than the pod lives: provisioners act upon it without looking at pods.

Tenants can write a selected node too. What another writer has selected, be it the scheduler before
this one, reserves only while a live pod uses the claim that is not gated, for a limited time in the
whole life of the claim, and if the pool could hold the volume; and of each pod only so many claims
do. So a tenant reserves no more than their claims could have as volumes, which quotas count, and no
claim does for long.

An attempt that is left to an administrator reserves until reports count in what there is of it.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.node import NodeSelectorSpec
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.tokens import CapacityToken, find_token
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.reservations.attempts import OpenAttempt, find_attempt, find_current
from plimsoll.decide.scheduling.reservations.deadlines import (
    UNORDERED,
    ReservationDeadlines,
    ReservationWait,
)

REMEMBERED = 4096
"""Changes."""
MOST_PER_POD = 32
"""Claims of one pod that reserve room."""
WANTED = ObjectKey("", "")
"""In place of a lease: the volume that the claim is to get."""
NEVER = datetime.max.replace(tzinfo=UTC)


class ReservationKey(NamedTuple):
    claim: ObjectKey
    attempt: ObjectKey = WANTED
    """The lease of an attempt whose volume the claim is not to get."""


class RecordedVolume(NamedTuple):
    """What tells whether a report counts a volume in."""

    token: CapacityToken | None
    """Reports that have reached it do; None: its provisioner writes none."""
    reports: int = 0
    """How many reports there had been when it was first seen. Where tokens are missing, the first
    of an object after that may be older than the volume; the second is not."""
    until: datetime | None = None
    """By then it counts as reported where tokens are missing; None: it does at once."""
    reach: NodeSelectorSpec | None = None
    """Of nodes; None: of all, or not known."""


class Reservation(NamedTuple):
    """Room that a volume takes, or is about to take."""

    claim: ObjectKey
    storage_class: str
    size: int
    node: str
    """The selected one."""
    recorded: RecordedVolume | None
    """None: it is not recorded yet."""
    must_fit: bool = False
    """It takes nothing of a pool that could not hold it: another writer has selected the node, and
    no provisioner has begun."""


class ReservationIndex:
    """Takes objects as they come, change and go, and is told the time."""

    def __init__(self) -> None:
        self.deadlines = ReservationDeadlines()
        self.by_key: dict[ReservationKey, Reservation] = {}
        self._found: dict[ObjectKey, dict[ReservationKey, Reservation]] = {}
        """The same, by claim."""
        self.ended = 0
        """How many have ended so far, or went to another node."""
        self._changes: list[ReservationKey] = []
        self._forgotten = 0
        self._claims: dict[ObjectKey, PersistentVolumeClaim] = {}
        """Those for which a node is selected."""
        self._users: dict[ObjectKey, set[ObjectKey]] = {}
        """By claim, the live pods."""
        self._pods: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
        self._placed: set[ObjectKey] = set()
        """Live pods that have a node, or are about to get it."""
        self.decided: dict[ObjectKey, tuple[str, str] | None] = {}
        """By claim, the choice with which this scheduler placed a pod, until the volume is
        recorded."""
        self.others: dict[ObjectKey, str] = {}
        """By claim that a node was selected for by another writer, its uid."""
        self.reports_before: dict[str, int] = {}
        """By volume, how many reports there had been when it was first seen."""
        self._volumes: dict[ObjectKey, dict[str, PersistentVolume]] = {}
        """By claim, those that name it."""
        self._volume_claims: dict[str, ObjectKey] = {}
        self._attempts: dict[ObjectKey, dict[ObjectKey, OpenAttempt]] = {}
        """By claim and lease."""
        self._attempt_claims: dict[ObjectKey, ObjectKey] = {}
        """By lease."""
        self.reports_before_left: dict[ObjectKey, int] = {}
        """By lease of an attempt that is left to an administrator, how many reports there had been
        when that was first seen."""

    def advance(self, now: datetime) -> list[ObjectKey]:
        """Claims whose reservation may have ended by the time that has passed."""
        passed = self.deadlines.advance(now)
        for key in passed:
            # Whether reports without tokens count the volume in hangs on the time alone.
            self._derive(key)
            for each in self._found.get(key, ()):
                self._mark(each)
        return passed

    def put_claim(self, claim: PersistentVolumeClaim) -> None:
        key = claim.key
        if self.others.get(key, claim.uid) != claim.uid:
            self._forget_other(key)
        if SELECTED_NODE in claim.annotations:
            if _choice(self._claims.get(key)) != _choice(claim):
                self._forget_decided(key)
            self._claims[key] = claim
            self._derive(key)
        else:
            self._take_off(key)

    def remove_claim(self, key: ObjectKey) -> None:
        self._forget_other(key)
        self._take_off(key)

    def _take_off(self, key: ObjectKey) -> None:
        """No node is selected for it."""
        if self._claims.pop(key, None) is not None:
            self._forget_decided(key)
            self._derive(key)

    def _forget_decided(self, key: ObjectKey) -> None:
        self.decided.pop(key, None)
        self.deadlines.forget(ReservationWait(key))

    def _forget_other(self, key: ObjectKey) -> None:
        if (uid := self.others.pop(key, None)) is not None:
            self.deadlines.forget(ReservationWait(key, uid))

    def put_pod(self, pod: Pod) -> None:
        node = pod.spec.node_name
        is_live = not pod.is_finished and not pod.is_being_deleted
        # Gates are never added to a pod: no scheduler has decided on one that has some.
        is_gated = bool(pod.spec.scheduling_gates) and not node
        claims = pod.claims[:MOST_PER_POD] if is_live and not is_gated else ()
        self._use(pod.key, claims)
        if claims and node:
            self._placed.add(pod.key)
        else:
            self._placed.discard(pod.key)

    def decide_pod(self, key: ObjectKey) -> None:
        """This scheduler has placed it, after it has selected the node for its claims."""
        for claim in self._pods.get(key, ()):
            if claim in self._claims:
                self.deadlines.forget(ReservationWait(claim))
                self.decided[claim] = _choice(self._claims[claim])
                self._derive(claim)

    def refuse_pod(self, key: ObjectKey) -> None:
        """The scheduler has found no node for it: what was selected for its claims before was not
        its decision, or cannot be carried out."""
        for claim in self._pods.get(key, ()):
            if self._placed.isdisjoint(self._users[claim]):
                self.deadlines.shorten(self._wait(claim))

    def _wait(self, key: ObjectKey) -> ReservationWait:
        """For the provisioner to begin. What another writer selects has one deadline, however often
        they select."""
        return (
            ReservationWait(key)
            if key in self.decided
            else ReservationWait(key, self.others.get(key, ""))
        )

    def remove_pod(self, key: ObjectKey) -> None:
        self._placed.discard(key)
        self._use(key, ())

    def _use(self, pod: ObjectKey, claims: tuple[ObjectKey, ...]) -> None:
        before = self._pods.get(pod, ())
        if before == claims:
            return
        for claim in before:
            self._users[claim].discard(pod)
            if not self._users[claim]:
                del self._users[claim]
        for claim in claims:
            if claim not in self._users:
                self.deadlines.restore(ReservationWait(claim))
            self._users.setdefault(claim, set()).add(pod)
        if claims:
            self._pods[pod] = claims
        else:
            del self._pods[pod]
        for claim in {*before, *claims}:
            if claim in self._claims:
                self._derive(claim)

    def put_volume(self, volume: PersistentVolume, reports: int = 0) -> None:
        """`reports` of capacity there have been so far."""
        old, claim = self._volume_claims.get(volume.name), volume.spec.claim
        if old is not None and old != claim:
            self.remove_volume(volume.name)
        if claim is not None:
            self.reports_before.setdefault(volume.name, reports)
            self.deadlines.remind(claim, _reported_by(volume))
            self._volume_claims[volume.name] = claim
            self._volumes.setdefault(claim, {})[volume.name] = volume
            self._derive(claim)

    def remove_volume(self, name: str) -> None:
        claim = self._volume_claims.pop(name, None)
        if claim is not None:
            self.reports_before.pop(name, None)
            del self._volumes[claim][name]
            if not self._volumes[claim]:
                del self._volumes[claim]
            self._derive(claim)

    def put_record(self, lease: Lease, reports: int = 0) -> None:
        """`reports` of capacity there have been so far."""
        attempt = find_attempt(lease)
        if attempt is None:
            self.remove_record(lease.key)
            return
        claim = attempt.claim.key
        self._attempt_claims[lease.key] = claim
        if attempt.is_left:
            self.reports_before_left.setdefault(lease.key, reports)
        elif self.reports_before_left.pop(lease.key, None) is not None:
            self.deadlines.forget(_left(attempt))
        self._attempts.setdefault(claim, {})[lease.key] = attempt
        self._derive(claim)

    def remove_record(self, key: ObjectKey) -> None:
        claim = self._attempt_claims.pop(key, None)
        if claim is not None:
            if self.reports_before_left.pop(key, None) is not None:
                self.deadlines.forget(_left(self._attempts[claim][key]))
            del self._attempts[claim][key]
            if not self._attempts[claim]:
                del self._attempts[claim]
            self._derive(claim)

    def _derive(self, key: ObjectKey) -> None:
        claim = self._claims.get(key)
        if claim is not None and self._volumes_of(claim):
            self.decided.pop(key, None)
            self._forget_other(key)
        waits = self._waits_for_provisioner(key)
        if claim is not None and waits and key not in self.decided:
            self.others[key] = claim.uid
        elif not waits:
            self.deadlines.forget(ReservationWait(key))
        before, found = self._found.pop(key, {}), self._reservations(key)
        if waits and ReservationKey(key) in found:
            self._begin(key)
        if found:
            self._found[key] = found
        for each in dict.fromkeys((*before, *found)):
            if before.get(each) != found.get(each):
                self._put(each, found.get(each))

    def _begin(self, key: ObjectKey) -> None:
        """It waits for its provisioner."""
        wait = self._wait(key)
        self.deadlines.begin(wait)
        if key not in self._users:
            self.deadlines.shorten(wait)

    def _put(self, key: ReservationKey, found: Reservation | None) -> None:
        before = self.by_key.pop(key, None)
        if found is not None:
            self.by_key[key] = found
        if before is not None and (found is None or found.node != before.node):
            self.ended += 1
        self._mark(key)

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

    def _reservations(self, key: ObjectKey) -> dict[ReservationKey, Reservation]:
        claim, attempts = self._claims.get(key), self._attempts.get(key, {})
        current = find_current(attempts.values(), claim) if attempts else None
        found = {
            ReservationKey(key, lease): self._of_attempt(attempt)
            for lease, attempt in sorted(attempts.items())
            if attempt is not current and not self._is_counted_in(attempt)
        }
        wanted = self._wanted(key, claim, current)
        if wanted is not None:
            found[ReservationKey(key)] = wanted
        return found

    def _wanted(
        self, key: ObjectKey, selected: PersistentVolumeClaim | None, current: OpenAttempt | None
    ) -> Reservation | None:
        """For the volume that the claim is to get."""
        claim = selected or (current.claim if current is not None else None)
        if claim is None:
            return None
        node = claim.annotations.get(SELECTED_NODE, "")
        size = size_of(claim.spec.resources.requests).value
        recorded, must_fit = None, False
        if volumes := self._volumes_of(claim):
            size = max(size, *(size_of(each.spec.capacity).value for each in volumes))
            recorded = self._recorded(volumes)
            has_ended = recorded is None
        elif current is None:
            has_ended = not self._may_be_begun(key) or self.deadlines.is_over(self._wait(key))
            must_fit = key not in self.decided
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
        size = size_of(claim.spec.resources.requests).value
        return Reservation(claim.key, claim.storage_class, size, attempt.node, recorded)

    def _is_counted_in(self, attempt: OpenAttempt) -> bool:
        return attempt.is_left and self.deadlines.is_over(_left(attempt))

    def _left_volume(self, attempt: OpenAttempt) -> RecordedVolume | None:
        """What there is of one that is left to an administrator; None: it is not."""
        if not attempt.is_left:
            return None
        self.deadlines.begin(_left(attempt), UNORDERED)
        return RecordedVolume(None, self.reports_before_left[attempt.lease], NEVER)

    def _may_be_begun(self, key: ObjectKey) -> bool:
        """A live pod waits for it, or did when the node was selected by this scheduler."""
        return key in self._users or key in self.decided

    def _recorded(self, volumes: Sequence[PersistentVolume]) -> RecordedVolume | None:
        """None: they count as reported, whatever objects there are."""
        tokens = [token for each in volumes if (token := find_token(each.annotations))]
        times = [time for each in volumes if (time := _reported_by(each))]
        until = max(times, default=None)
        if not tokens and (until is None or self.deadlines.now is None):
            return None
        if not tokens and self.deadlines.is_past(until):
            return None
        reports = max(self.reports_before[each.name] for each in volumes)
        reach = volumes[0].spec.required_nodes
        return RecordedVolume(max(tokens, default=None), reports, until, reach)

    def _waits_for_provisioner(self, key: ObjectKey) -> bool:
        """A node is selected for it, and no record tells that the volume was begun for that."""
        claim = self._claims.get(key)
        if claim is None or not self._may_be_begun(key) or self._volumes_of(claim):
            return False
        attempts = self._attempts.get(key)
        return not attempts or find_current(attempts.values(), claim) is None

    def _volumes_of(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        return [
            volume
            for volume in self._volumes.get(claim.key, {}).values()
            if volume.spec.claim_ref and volume.spec.claim_ref.uid in ("", claim.uid)
        ]

    def since(self, key: ReservationKey) -> datetime | None:
        """When its volume was recorded, or else begun; None: nothing tells."""
        attempts = self._attempts.get(key.claim, {})
        if key.attempt != WANTED:
            return attempts[key.attempt].begun_at
        recorded = self._volumes.get(key.claim, {}).values()
        times = [volume.metadata.creation_timestamp for volume in recorded]
        current = find_current(attempts.values(), self._claims.get(key.claim))
        times += [] if current is None else [current.begun_at]
        return min((time for time in times if time is not None), default=None)

    def take_over(self, other: "ReservationIndex") -> None:
        """After the same objects were put: what the other has seen and no object tells."""
        self.deadlines = other.deadlines.fork()
        self.reports_before |= other.reports_before
        self.reports_before_left |= other.reports_before_left
        self.others = other.others.copy()
        self.decided = {
            key: choice
            for key, choice in other.decided.items()
            if choice == _choice(self._claims.get(key))
        }
        for key in dict.fromkeys((*self._claims, *self._volumes, *self._attempts)):
            self._derive(key)

    def fork(self) -> "ReservationIndex":
        twin = ReservationIndex()
        twin.deadlines, twin.reports_before = self.deadlines.fork(), self.reports_before.copy()
        twin._placed = self._placed.copy()
        twin.decided, twin.others = self.decided.copy(), self.others.copy()
        twin.reports_before_left = self.reports_before_left.copy()
        twin.by_key, twin._found = self.by_key.copy(), self._found.copy()
        twin.ended, twin._claims = self.ended, self._claims.copy()
        twin._users = {claim: pods.copy() for claim, pods in self._users.items()}
        twin._pods = self._pods.copy()
        twin._volumes = {claim: volumes.copy() for claim, volumes in self._volumes.items()}
        twin._volume_claims = self._volume_claims.copy()
        twin._attempts = {claim: found.copy() for claim, found in self._attempts.items()}
        twin._attempt_claims = self._attempt_claims.copy()
        return twin


def _left(attempt: OpenAttempt) -> ReservationWait:
    """For reports to count in what is left to an administrator."""
    return ReservationWait(attempt.claim.key, str(attempt.lease))


def _choice(claim: PersistentVolumeClaim | None) -> tuple[str, str] | None:
    return None if claim is None else (claim.uid, claim.annotations.get(SELECTED_NODE, ""))


def _reported_by(volume: PersistentVolume) -> datetime | None:
    """By then every publisher that polls has asked its driver since the volume was recorded."""
    made = volume.metadata.creation_timestamp
    return None if made is None else made + UNORDERED
