"""Which volumes were decided on and may be in no report of their driver yet.

A claim reserves room from the moment that a node is selected for it until its volume is counted in.
Everything follows from what is written in the cluster: the selected node on the claim, the intent
of the provisioner, the volume with its token; so a scheduler that starts anew forgets nothing. A
claim that is not being provisioned reserves only while a live pod uses it, for a limited time, and
of each pod only so many claims do: no tenant can block a pool by writing annotations.
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
from plimsoll.decide.provisioning.intents import Intent, intent_in
from plimsoll.decide.scheduling.reservation_deadlines import UNORDERED, ReservationDeadlines

REMEMBERED = 4096
"""Changes."""
MOST_PER_POD = 32
"""Claims of one pod that reserve room."""


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
        self.by_claim: dict[ObjectKey, Reservation] = {}
        self._changes: list[ObjectKey] = []
        self._forgotten = 0
        self._claims: dict[ObjectKey, PersistentVolumeClaim] = {}
        """Those for which a node is selected."""
        self._users: dict[ObjectKey, set[ObjectKey]] = {}
        """By claim, the live pods."""
        self._pods: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
        self._placed: set[ObjectKey] = set()
        """Live pods that have a node, or are about to get it."""
        self.reports_before: dict[str, int] = {}
        """By volume, how many reports there had been when it was first seen."""
        self._volumes: dict[ObjectKey, dict[str, PersistentVolume]] = {}
        """By claim, those that name it."""
        self._volume_claims: dict[str, ObjectKey] = {}
        self._intents: dict[ObjectKey, Intent] = {}
        """By lease."""
        self._begun: dict[ObjectKey, datetime | None] = {}
        """By lease, when the intent was stored."""
        self._by_claim: dict[ObjectKey, set[ObjectKey]] = {}
        """Leases of open intents."""

    def advance(self, now: datetime) -> list[ObjectKey]:
        """Claims whose reservation may have ended by the time that has passed."""
        passed = self.deadlines.advance(now)
        for key in passed:
            # Whether reports without tokens count the volume in hangs on the time alone.
            self._derive(key)
            self._mark(key)
        return passed

    def put_claim(self, claim: PersistentVolumeClaim) -> None:
        if SELECTED_NODE in claim.annotations:
            if _choice(self._claims.get(claim.key)) != _choice(claim):
                self.deadlines.forget(claim.key)
            self._claims[claim.key] = claim
        elif self._claims.pop(claim.key, None) is None:
            return
        self._derive(claim.key)

    def remove_claim(self, key: ObjectKey) -> None:
        if self._claims.pop(key, None) is not None:
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
        intent = intent_in(lease.annotations)
        if intent is None or not intent.state.is_open:
            self.remove_record(lease.key)
            return
        self._intents[lease.key] = intent
        self._begun[lease.key] = lease.metadata.creation_timestamp
        self._by_claim.setdefault(intent.claim_key, set()).add(lease.key)
        self._derive(intent.claim_key)

    def remove_record(self, key: ObjectKey) -> None:
        intent = self._intents.pop(key, None)
        self._begun.pop(key, None)
        if intent is not None:
            self._by_claim[intent.claim_key].discard(key)
            self._derive(intent.claim_key)

    def _derive(self, key: ObjectKey) -> None:
        found = self._reservation(key)
        if not self._waits_for_provisioner(key):
            self.deadlines.forget(key)
        elif found is not None:
            self.deadlines.begin(key)
        if found == self.by_claim.get(key):
            return
        self.by_claim.pop(key, None)
        if found is not None:
            self.by_claim[key] = found
        self._mark(key)

    @property
    def position(self) -> int:
        """How many changes there were."""
        return self._forgotten + len(self._changes)

    def changed_since(self, position: int) -> Iterable[ObjectKey]:
        """Claims whose reservation is another; all, if there were too many changes to tell."""
        if position < self._forgotten:
            return [*self.by_claim, *self._changes]
        return self._changes[position - self._forgotten :]

    def _mark(self, key: ObjectKey) -> None:
        if len(self._changes) >= REMEMBERED:
            half = len(self._changes) // 2
            self._forgotten += half
            del self._changes[:half]
        self._changes.append(key)

    def _reservation(self, key: ObjectKey) -> Reservation | None:
        begun = [self._intents[each] for each in sorted(self._by_claim.get(key, ()))]
        intent = max(begun, key=lambda each: each.number, default=None)
        claim = self._claims.get(key)
        if intent is not None and (claim is None or claim.uid != intent.uid):
            claim = intent.recorded_claim
        if claim is None:
            return None
        node = intent.selected_node if intent is not None else ""
        node = node or claim.annotations.get(SELECTED_NODE, "")
        size = size_of(claim.spec.resources.requests).value
        recorded = None
        if volumes := self._volumes_of(claim):
            size = max(size, *(size_of(each.spec.capacity).value for each in volumes))
            recorded = self._recorded(volumes)
            has_ended = recorded is None
        elif intent is None:
            has_ended = key not in self._users or self.deadlines.is_over(key)
        else:
            has_ended = False
        return None if has_ended else Reservation(key, claim.storage_class, size, node, recorded)

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
        """A node is selected for it, a live pod uses it, and no record tells that more was done."""
        claim = self._claims.get(key)
        is_begun = bool(self._by_claim.get(key)) or (claim is not None and self._volumes_of(claim))
        return claim is not None and key in self._users and not is_begun

    def _volumes_of(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        return [
            volume
            for volume in self._volumes.get(claim.key, {}).values()
            if volume.spec.claim_ref and volume.spec.claim_ref.uid in ("", claim.uid)
        ]

    def since(self, claim: ObjectKey) -> datetime | None:
        """When its volume was recorded, or else begun; None: nothing tells."""
        recorded = self._volumes.get(claim, {}).values()
        times = [volume.metadata.creation_timestamp for volume in recorded]
        times += [self._begun[lease] for lease in self._by_claim.get(claim, ())]
        return min((time for time in times if time is not None), default=None)

    def take_over(self, other: "ReservationIndex") -> None:
        """After the same objects were put: what the other has seen and no object tells."""
        self.deadlines = other.deadlines.fork()
        self.reports_before |= other.reports_before
        for key in {*self._claims, *self._volumes, *self._by_claim}:
            self._derive(key)

    def fork(self) -> "ReservationIndex":
        twin = ReservationIndex()
        twin.deadlines, twin.reports_before = self.deadlines.fork(), self.reports_before.copy()
        twin._placed = self._placed.copy()
        twin.by_claim, twin._claims = self.by_claim.copy(), self._claims.copy()
        twin._users = {claim: pods.copy() for claim, pods in self._users.items()}
        twin._pods = self._pods.copy()
        twin._volumes = {claim: volumes.copy() for claim, volumes in self._volumes.items()}
        twin._volume_claims, twin._intents = self._volume_claims.copy(), self._intents.copy()
        twin._begun = self._begun.copy()
        twin._by_claim = {claim: leases.copy() for claim, leases in self._by_claim.items()}
        return twin


def _choice(claim: PersistentVolumeClaim | None) -> tuple[str, str] | None:
    return None if claim is None else (claim.uid, claim.annotations.get(SELECTED_NODE, ""))


def _reported_by(volume: PersistentVolume) -> datetime | None:
    """By then every publisher that polls has asked its driver since the volume was recorded."""
    made = volume.metadata.creation_timestamp
    return None if made is None else made + UNORDERED
