"""When a reservation ends though nothing that is written says so.

Intents, and tokens that reports can reach, end reservations by what is written; time does not.
Three kinds have a deadline. A node is selected and no provisioner has stored an intent: the
provisioner may never begin. A volume is recorded and its publisher writes no tokens: no report
tells whether it counts the volume in. An attempt is left to an administrator: no token tells of its
volume. Time is told, never read, and runs from the first time that is told after the wait began.

A wait may be paused. What is left of its time is kept, and not a new time begun, when it goes on: a
claim that is decided on again and again, and that nothing comes of, would reserve for ever.
"""

from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey

UNBEGUN = timedelta(minutes=10)
"""Of a claim without an intent, in its whole life: as long as a scheduler waits for volumes."""
UNDECIDED = timedelta(seconds=30)
"""After a decision at least, and at most after the scheduler found no node for the pod, without an
intent: a provisioner that runs has begun by then."""
UNORDERED = timedelta(minutes=2)
"""After the volume was recorded, or was left to an administrator, without tokens: two polls of
csi-provisioner."""


class ReservationWait(NamedTuple):
    """What a claim waits for."""

    claim: ObjectKey
    of: str = ""
    """Empty: this scheduler has selected the node. Else the uid of the claim, for which another
    writer has; or the name of the lease of an attempt."""


class ReservationDeadlines:
    def __init__(self) -> None:
        self.now: datetime | None = None
        """As last told; None: never."""
        self._ends: dict[ReservationWait, datetime] = {}
        self._latest: dict[ReservationWait, datetime] = {}
        """Of those that were shortened, when they would have ended."""
        self._left: dict[ReservationWait, timedelta] = {}
        """Of those that were paused, how long they last when they go on."""
        self._new: dict[ReservationWait, timedelta] = {}
        """Those that began since time was last told, and how long they last."""
        self._timers: list[tuple[datetime, ObjectKey]] = []
        """A heap, by claim. One that is not needed any more costs a look."""

    def begin(self, wait: ReservationWait, lasting: timedelta = UNBEGUN) -> None:
        """Harmless if it has begun already. One that was paused goes on."""
        if wait not in self._ends:
            self._new.setdefault(wait, self._left.get(wait, lasting))

    def forget(self, wait: ReservationWait) -> None:
        """It has ended, or begins anew."""
        self._ends.pop(wait, None)
        self._latest.pop(wait, None)
        self._left.pop(wait, None)
        self._new.pop(wait, None)

    def pause(self, wait: ReservationWait) -> None:
        """Its time does not run until it begins again. If none is left it is over, and stays so."""
        self._new.pop(wait, None)
        end = self._latest.pop(wait, self._ends.get(wait))
        if end is None or self.now is None:
            return
        if self.is_past(end):
            self._ends[wait] = end
        else:
            del self._ends[wait]
            self._left[wait] = end - self.now

    def allow(self, wait: ReservationWait, least: timedelta) -> None:
        """Pause it, and let it last so long at least when it goes on."""
        self.pause(wait)
        if self.is_over(wait):
            del self._ends[wait]
            self._left[wait] = least
        elif wait in self._left:
            self._left[wait] = max(least, self._left[wait])

    def shorten(self, wait: ReservationWait) -> None:
        """The scheduler has found no node for the pods of the claim; or they are gone, and another
        writer has selected the node."""
        if self.now is None:
            return
        if wait in self._new:
            self._end(wait, self.now + self._new[wait])
        known, end = self._ends.get(wait), self.now + UNDECIDED
        if known is not None and end < known:
            self._latest.setdefault(wait, known)
            self._end(wait, end)

    def restore(self, wait: ReservationWait) -> None:
        """It ends when it would have, had it not been shortened."""
        if (end := self._latest.pop(wait, None)) is not None:
            self._end(wait, end)

    def is_over(self, wait: ReservationWait) -> bool:
        return self.is_past(self._ends.get(wait))

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
        for wait, lasting in [*self._new.items()]:
            self._end(wait, self.now + lasting)
        while self._timers and self._timers[0][0] <= self.now:
            passed[heappop(self._timers)[1]] = None
        return list(passed)

    def _end(self, wait: ReservationWait, end: datetime) -> None:
        self._new.pop(wait, None)
        self._ends[wait] = end
        heappush(self._timers, (end, wait.claim))

    def fork(self) -> "ReservationDeadlines":
        twin = ReservationDeadlines()
        twin.now, twin._ends, twin._new = self.now, self._ends.copy(), self._new.copy()
        twin._latest, twin._left = self._latest.copy(), self._left.copy()
        twin._timers = self._timers.copy()
        return twin
