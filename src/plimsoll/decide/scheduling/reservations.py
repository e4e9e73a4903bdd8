"""Which volumes were decided on and may be in no report of their driver yet.

A claim reserves room from the moment that a node is selected for it until its volume is counted in.
Each earlier attempt for it reserves as well, until its intent ends: the driver may have that volume
too. Everything follows from what is written in the cluster: the selected node on the claim, the
intents of the provisioner, the volume with its token; so a scheduler that starts anew forgets
nothing of that.

A claim that is not being provisioned reserves only while a live pod uses it, for a limited time,
and of each pod only so many claims do: no tenant can block a pool by writing annotations. A node
that this scheduler has selected itself reserves a little longer than the pod lives: provisioners
act upon it without looking at pods.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.tokens import CapacityToken, find_token
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.attempts import OpenAttempt, find_attempt, find_current
from plimsoll.decide.scheduling.reservation_deadlines import UNORDERED, ReservationDeadlines

REMEMBERED = 4096
"""Changes."""
MOST_PER_POD = 32
"""Claims of one pod that reserve room."""
WANTED = ObjectKey("", "")
"""In place of a lease: the volume that the claim is to get."""


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


class Reservation(NamedTuple):
    """Room that a volume takes, or is about to take."""

    claim: ObjectKey
    storage_class: str
    size: int
    node: str
    """The selected one."""
    recorded: RecordedVolume | None
    """None: it is not recorded yet."""


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
        """By claim, the choice with which a pod was placed, until the volume is recorded."""
        self.reports_before: dict[str, int] = {}
        """By volume, how many reports there had been when it was first seen."""
        self._volumes: dict[ObjectKey, dict[str, PersistentVolume]] = {}
        """By claim, those that name it."""
        self._volume_claims: dict[str, ObjectKey] = {}
        self._attempts: dict[ObjectKey, dict[ObjectKey, OpenAttempt]] = {}
        """By claim and lease."""
        self._attempt_claims: dict[ObjectKey, ObjectKey] = {}
        """By lease."""

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
        if SELECTED_NODE in claim.annotations:
            if _choice(self._claims.get(claim.key)) != _choice(claim):
                self.deadlines.forget(claim.key)
                self.decided.pop(claim.key, None)
            self._claims[claim.key] = claim
            self._derive(claim.key)
        else:
            self.remove_claim(claim.key)

    def remove_claim(self, key: ObjectKey) -> None:
        if self._claims.pop(key, None) is not None:
            self.decided.pop(key, None)
            self._derive(key)

    def put_pod(self, pod: Pod) -> None:
        is_live = not pod.is_finished and not pod.is_being_deleted
        claims = pod.claims[:MOST_PER_POD] if is_live else ()
        self._use(pod.key, claims)
        if not claims or not pod.spec.node_name:
            self._placed.discard(pod.key)
        elif pod.key not in self._placed:
            self._placed.add(pod.key)
            for claim in claims:
                self.deadlines.forget(claim)
                if claim in self._claims:
                    self.decided[claim] = _choice(self._claims[claim])
                self._derive(claim)

    def refuse_pod(self, key: ObjectKey) -> None:
        """The scheduler has found no node for it: what was selected for its claims before was not
        its decision, or cannot be carried out."""
        for claim in self._pods.get(key, ()):
            if self._placed.isdisjoint(self._users[claim]):
                self.deadlines.shorten(claim)

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
                self.deadlines.forget(claim)
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

    def put_record(self, lease: Lease) -> None:
        attempt = find_attempt(lease)
        if attempt is None:
            self.remove_record(lease.key)
            return
        claim = attempt.claim.key
        self._attempt_claims[lease.key] = claim
        self._attempts.setdefault(claim, {})[lease.key] = attempt
        self._derive(claim)

    def remove_record(self, key: ObjectKey) -> None:
        claim = self._attempt_claims.pop(key, None)
        if claim is not None:
            del self._attempts[claim][key]
            if not self._attempts[claim]:
                del self._attempts[claim]
            self._derive(claim)

    def _derive(self, key: ObjectKey) -> None:
        claim = self._claims.get(key)
        if claim is not None and self._volumes_of(claim):
            self.decided.pop(key, None)
        before, found = self._found.pop(key, {}), self._reservations(key)
        if not self._waits_for_provisioner(key):
            self.deadlines.forget(key)
        elif ReservationKey(key) in found:
            self.deadlines.begin(key)
            if key not in self._users:
                self.deadlines.shorten(key)
        if found:
            self._found[key] = found
        for each in dict.fromkeys((*before, *found)):
            if before.get(each) != found.get(each):
                self._put(each, found.get(each))

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
            ReservationKey(key, lease): _of_attempt(attempt)
            for lease, attempt in sorted(attempts.items())
            if attempt is not current
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
        recorded = None
        if volumes := self._volumes_of(claim):
            size = max(size, *(size_of(each.spec.capacity).value for each in volumes))
            recorded = self._recorded(volumes)
            has_ended = recorded is None
        elif current is None:
            has_ended = not self._may_be_begun(key) or self.deadlines.is_over(key)
        else:
            node, has_ended = current.node or node, False
        return None if has_ended else Reservation(key, claim.storage_class, size, node, recorded)

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
        return RecordedVolume(max(tokens, default=None), reports, until)

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
        twin.decided = self.decided.copy()
        twin.by_key, twin._found = self.by_key.copy(), self._found.copy()
        twin.ended, twin._claims = self.ended, self._claims.copy()
        twin._users = {claim: pods.copy() for claim, pods in self._users.items()}
        twin._pods = self._pods.copy()
        twin._volumes = {claim: volumes.copy() for claim, volumes in self._volumes.items()}
        twin._volume_claims = self._volume_claims.copy()
        twin._attempts = {claim: found.copy() for claim, found in self._attempts.items()}
        twin._attempt_claims = self._attempt_claims.copy()
        return twin


def _of_attempt(attempt: OpenAttempt) -> Reservation:
    """Whether a report counts the volume in is not known: a report that does counts it twice."""
    claim = attempt.claim
    size = size_of(claim.spec.resources.requests).value
    return Reservation(claim.key, claim.storage_class, size, attempt.node, None)


def _choice(claim: PersistentVolumeClaim | None) -> tuple[str, str] | None:
    return None if claim is None else (claim.uid, claim.annotations.get(SELECTED_NODE, ""))


def _reported_by(volume: PersistentVolume) -> datetime | None:
    """By then every publisher that polls has asked its driver since the volume was recorded."""
    made = volume.metadata.creation_timestamp
    return None if made is None else made + UNORDERED
