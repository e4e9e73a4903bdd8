"""The open attempts of each claim, and since when those are known that are left to an
administrator."""

from collections.abc import Iterable, Mapping

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.reservations.attempts import OpenAttempt
from plimsoll.decide.scheduling.reservations.deadlines import ReservationWait

NO_ATTEMPTS: Mapping[ObjectKey, OpenAttempt] = {}


class OpenAttempts:
    def __init__(self) -> None:
        self._by_claim: dict[ObjectKey, dict[ObjectKey, OpenAttempt]] = {}
        self._claims: dict[ObjectKey, ObjectKey] = {}
        """By lease."""
        self.reports_before_left: dict[ObjectKey, int] = {}
        """By lease of an attempt that is left to an administrator, how many reports there had been
        when that was first seen."""

    def claims(self) -> Iterable[ObjectKey]:
        return self._by_claim.keys()

    def claim_of(self, lease: ObjectKey) -> ObjectKey | None:
        return self._claims.get(lease)

    def of(self, claim: ObjectKey) -> Mapping[ObjectKey, OpenAttempt]:
        """By lease."""
        return self._by_claim.get(claim, NO_ATTEMPTS)

    def put(self, attempt: OpenAttempt, reports: int) -> bool:
        """`reports` of capacity there have been so far. Returns whether it was left to an
        administrator, and is not any more."""
        lease, claim = attempt.lease, attempt.claim.key
        self._claims[lease] = claim
        self._by_claim.setdefault(claim, {})[lease] = attempt
        if attempt.is_left:
            self.reports_before_left.setdefault(lease, reports)
            return False
        return self.reports_before_left.pop(lease, None) is not None

    def remove(self, lease: ObjectKey) -> OpenAttempt | None:
        claim = self._claims.pop(lease, None)
        if claim is None:
            return None
        attempt = self._by_claim[claim].pop(lease)
        if not self._by_claim[claim]:
            del self._by_claim[claim]
        self.reports_before_left.pop(lease, None)
        return attempt

    def fork(self) -> "OpenAttempts":
        twin = OpenAttempts()
        twin._by_claim = {claim: found.copy() for claim, found in self._by_claim.items()}
        twin._claims = self._claims.copy()
        twin.reports_before_left = self.reports_before_left.copy()
        return twin


def wait_for_reports(attempt: OpenAttempt) -> ReservationWait:
    """For reports to count in what is left to an administrator."""
    return ReservationWait(attempt.claim.key, str(attempt.lease))
