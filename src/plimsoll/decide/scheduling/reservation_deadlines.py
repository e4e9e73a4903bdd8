"""When a reservation ends though nothing that is written says so.

Intents, and tokens that reports can reach, end reservations by what is written; time does not. Two
kinds have a deadline. A node is selected and no provisioner has stored an intent: the provisioner
may never begin. A volume is recorded and its publisher writes no tokens: no report tells whether it
counts the volume in. Time is told, never read, and runs for a claim from the first time that is
told after it began to wait.
"""

from datetime import datetime, timedelta
from heapq import heappop, heappush

from plimsoll.api.meta import ObjectKey

UNBEGUN = timedelta(minutes=10)
"""After the decision, without an intent: as long as a scheduler waits for volumes."""
UNDECIDED = timedelta(seconds=30)
"""After the scheduler found no node for the pod, without an intent: a provisioner that runs has
begun by then."""
UNORDERED = timedelta(minutes=2)
"""After the volume was recorded, without tokens: two polls of csi-provisioner."""


class ReservationDeadlines:
    def __init__(self) -> None:
        self.now: datetime | None = None
        """As last told; None: never."""
        self._ends: dict[ObjectKey, datetime] = {}
        """By claim that waits for its provisioner to begin."""
        self._new: dict[ObjectKey, None] = {}
        """Those that began to wait since time was last told."""
        self._timers: list[tuple[datetime, ObjectKey]] = []
        """A heap. One that is not needed any more costs a look."""

    def begin(self, claim: ObjectKey) -> None:
        """It waits for its provisioner; harmless if it does so already."""
        if claim not in self._ends:
            self._new[claim] = None

    def forget(self, claim: ObjectKey) -> None:
        """It does not wait any more, or begins anew."""
        self._ends.pop(claim, None)
        self._new.pop(claim, None)

    def shorten(self, claim: ObjectKey) -> None:
        """The scheduler has found no node for its pods."""
        known = self._ends.get(claim)
        if self.now is None or (known is None and claim not in self._new):
            return
        end = self.now + UNDECIDED
        if known is None or end < known:
            self._end(claim, end)

    def is_over(self, claim: ObjectKey) -> bool:
        return self.is_past(self._ends.get(claim))

    def is_past(self, moment: datetime | None) -> bool:
        return moment is not None and self.now is not None and moment <= self.now

    def remind(self, claim: ObjectKey, moment: datetime | None) -> None:
        """Let `advance` name the claim when the moment has come."""
        if moment is not None and not self.is_past(moment):
            heappush(self._timers, (moment, claim))

    @property
    def next_end(self) -> datetime | None:
        """Before that `advance` names no claim."""
        return self._timers[0][0] if self._timers else None

    def advance(self, now: datetime) -> list[ObjectKey]:
        """Claims for which a deadline has passed; the first time, all that have one."""
        passed: dict[ObjectKey, None] = {}
        if self.now is None:
            passed = dict.fromkeys(claim for _, claim in self._timers)
        self.now = now if self.now is None else max(now, self.now)
        for claim in [*self._new]:
            self._end(claim, self.now + UNBEGUN)
        while self._timers and self._timers[0][0] <= self.now:
            passed[heappop(self._timers)[1]] = None
        return list(passed)

    def _end(self, claim: ObjectKey, end: datetime) -> None:
        self._new.pop(claim, None)
        self._ends[claim] = end
        heappush(self._timers, (end, claim))

    def fork(self) -> "ReservationDeadlines":
        twin = ReservationDeadlines()
        twin.now, twin._ends, twin._new = self.now, self._ends.copy(), self._new.copy()
        twin._timers = self._timers.copy()
        return twin
