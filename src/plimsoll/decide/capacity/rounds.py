"""Which pairs wait to be asked, which are being asked, and when everything was last looked at."""

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime

from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.reports import CapacityAnswer


class Rounds:
    """A queue without duplicates, first come, first served, and a record of answers.

    A round begins with a poll and is over when all pairs of that moment have been asked. A poll in
    the middle of a round begins no other: a driver that takes longer than the time between two
    polls still comes to the end of its rounds.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[Pair, None] = OrderedDict()
        self._busy: set[Pair] = set()
        self._again: set[Pair] = set()
        self._round: set[Pair] | None = None
        self._reports: dict[Pair, tuple[CapacityAnswer, datetime]] = {}
        self._unanswered: set[Pair] = set()
        self.looked_at: datetime | None = None
        """When the last round was over."""

    @property
    def waiting(self) -> int:
        return len(self._waiting) + len(self._again)

    @property
    def unanswered_count(self) -> int:
        return len(self._unanswered)

    @property
    def oldest_report_at(self) -> datetime | None:
        return min((at for _, at in self._reports.values()), default=None)

    def report_of(self, pair: Pair) -> CapacityAnswer | None:
        found = self._reports.get(pair)
        return None if found is None else found[0]

    def begin(self, pairs: Iterable[Pair], now: datetime) -> None:
        due = list(pairs)
        if self._round is None:
            self._round = set(due)
        for pair in due:
            self.ask(pair)
        self._close(now)

    def ask(self, pair: Pair) -> None:
        if pair in self._busy:
            self._again.add(pair)
        else:
            self._waiting[pair] = None

    def take(self) -> Pair | None:
        if not self._waiting:
            return None
        pair, _ = self._waiting.popitem(last=False)
        self._busy.add(pair)
        return pair

    def take_this(self, pair: Pair) -> bool:
        """Whether it waited; it is being asked about now."""
        if pair not in self._waiting:
            return False
        del self._waiting[pair]
        self._busy.add(pair)
        return True

    def answered(self, pair: Pair, answer: CapacityAnswer, now: datetime) -> None:
        self._reports[pair] = (answer, now)
        self._unanswered.discard(pair)

    def unanswered(self, pair: Pair) -> None:
        self._unanswered.add(pair)

    def finish(self, pair: Pair, now: datetime) -> None:
        self._busy.discard(pair)
        if pair in self._again:
            self._again.discard(pair)
            self._waiting[pair] = None
        if self._round is not None:
            self._round.discard(pair)
        self._close(now)

    def _close(self, now: datetime) -> None:
        """End the round if nothing of it is left, as when there is nothing to publish at all."""
        if self._round is not None and not self._round:
            self._round = None
            self.looked_at = now

    def drop(self, pair: Pair) -> None:
        self._waiting.pop(pair, None)
        self._again.discard(pair)
        self._reports.pop(pair, None)
        self._unanswered.discard(pair)
        if self._round is not None:
            self._round.discard(pair)
