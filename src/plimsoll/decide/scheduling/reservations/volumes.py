"""The volumes that name a claim, and since when they are known."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.capacity.tokens import find_token
from plimsoll.decide.scheduling.reservations.deadlines import UNORDERED, ReservationDeadlines
from plimsoll.decide.scheduling.reservations.reservation import RecordedVolume


class RecordedVolumes:
    def __init__(self) -> None:
        self._by_claim: dict[ObjectKey, dict[str, PersistentVolume]] = {}
        self._claims: dict[str, ObjectKey] = {}
        self.reports_before: dict[str, int] = {}
        """By volume, how many reports there had been when it was first seen."""

    def claims(self) -> Iterable[ObjectKey]:
        return self._by_claim.keys()

    def claim_of(self, name: str) -> ObjectKey | None:
        return self._claims.get(name)

    def naming(self, claim: ObjectKey) -> Iterable[PersistentVolume]:
        return self._by_claim.get(claim, {}).values()

    def of(self, claim: PersistentVolumeClaim) -> Sequence[PersistentVolume]:
        """Those that name it, and not a namesake of it."""
        naming = self._by_claim.get(claim.key)
        if naming is None:
            return ()
        return [
            volume
            for volume in naming.values()
            if volume.spec.claim_ref and volume.spec.claim_ref.uid in ("", claim.uid)
        ]

    def put(self, volume: PersistentVolume, claim: ObjectKey, reports: int) -> None:
        """`reports` of capacity there have been so far."""
        self.reports_before.setdefault(volume.name, reports)
        self._claims[volume.name] = claim
        self._by_claim.setdefault(claim, {})[volume.name] = volume

    def remove(self, name: str) -> ObjectKey | None:
        """Returns the claim that it named."""
        claim = self._claims.pop(name, None)
        if claim is not None:
            self.reports_before.pop(name, None)
            del self._by_claim[claim][name]
            if not self._by_claim[claim]:
                del self._by_claim[claim]
        return claim

    def recorded(
        self, volumes: Sequence[PersistentVolume], deadlines: ReservationDeadlines
    ) -> RecordedVolume | None:
        """Of one claim. None: they count as reported, whatever objects there are."""
        tokens = [token for each in volumes if (token := find_token(each.annotations))]
        times = [time for each in volumes if (time := reported_by(each))]
        until = max(times, default=None)
        if not tokens and (until is None or deadlines.now is None):
            return None
        if not tokens and deadlines.is_past(until):
            return None
        reports = max(self.reports_before[each.name] for each in volumes)
        reach = volumes[0].spec.required_nodes
        return RecordedVolume(max(tokens, default=None), reports, until, reach)

    def fork(self) -> "RecordedVolumes":
        twin = RecordedVolumes()
        twin._by_claim = {claim: volumes.copy() for claim, volumes in self._by_claim.items()}
        twin._claims, twin.reports_before = self._claims.copy(), self.reports_before.copy()
        return twin


def reported_by(volume: PersistentVolume) -> datetime | None:
    """By then every publisher that polls has asked its driver since the volume was recorded."""
    made = volume.metadata.creation_timestamp
    return None if made is None else made + UNORDERED
