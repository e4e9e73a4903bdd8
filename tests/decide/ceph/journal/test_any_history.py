"""Whatever calls a driver gets and wherever they break off, the journal comes to one volume."""

from contextlib import suppress
from dataclasses import dataclass, field

from hypothesis import given, settings, strategies as st

from plimsoll.decide.ceph.journal.layout import CephPoolRef
from plimsoll.decide.ceph.journal.places import ImagePlace
from tests.decide.ceph.journal.rados_table import CrashedError, Fault
from tests.decide.ceph.journal.volume_calls import A, B, Ceph

LONGEST_CALL = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A call, what happens to which of its operations, and which zone is down meanwhile."""

    kind: str
    pool: CephPoolRef
    at: int | None
    fault: Fault
    down: str


EVENTS = st.builds(
    Event,
    kind=st.sampled_from(["create", "create", "refuse", "delete"]),
    pool=st.sampled_from([A, B]),
    at=st.none() | st.integers(1, LONGEST_CALL),
    fault=st.sampled_from(Fault),
    down=st.sampled_from(["", "", "zone-a", "zone-b"]),
)


@dataclass(slots=True)
class History:
    ceph: Ceph = field(default_factory=Ceph)
    answered: ImagePlace | None = None
    """The volume that a caller knows, until its deletion was asked for."""

    def happens(self, event: Event) -> None:
        self.ceph.table.down = {event.down} - {""}
        with suppress(CrashedError):
            if event.kind == "delete":
                self._delete(event)
            else:
                self._create(event)
        self.ceph.table.down = set()
        if self.answered:
            assert (self.answered.pool.name, self.answered.name) in self.ceph.table.images

    def _create(self, event: Event) -> None:
        steps = self.ceph.create(event.pool, has_room=event.kind == "create")
        ended = self.ceph.table.run(steps, fail_at=event.at, fault=event.fault)
        if isinstance(ended, ImagePlace):
            assert self.answered in (None, ended)
            self.answered = ended

    def _delete(self, event: Event) -> None:
        place, self.answered = self.answered, None
        if place:
            self.ceph.table.run(self.ceph.delete(place), fail_at=event.at, fault=event.fault)


@settings(max_examples=500)
@given(events=st.lists(EVENTS, max_size=8), last=st.sampled_from([A, B]))
def test_any_history_comes_to_one_volume(events: list[Event], last: CephPoolRef) -> None:
    history = History()
    for event in events:
        history.happens(event)
    place = history.ceph.created(last)
    assert history.answered in (None, place)
    history.ceph.assert_only(place)
