import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

import pytest

from plimsoll.runtime.clock import EPOCH, SteppedClock, settle
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.leading.leader import (
    Election,
    ElectionSettings,
    LeaseError,
    LeaseRecord,
    StoredLease,
)

SECOND = timedelta(seconds=1)


@dataclass
class LeaseInMemory:
    """One lease, as an API server keeps it: an update must name the version it replaces."""

    stored: StoredLease | None = None
    version: int = 0
    created_at: datetime = EPOCH
    """Of the next lease that is made."""
    is_away: bool = False
    hangs: asyncio.Event | None = None
    writes: list[LeaseRecord] = field(default_factory=list)

    async def read(self) -> StoredLease | None:
        await self._reach()
        return self.stored

    async def create(self, record: LeaseRecord) -> StoredLease:
        await self._reach()
        if self.stored is not None:
            raise LeaseError("exists")
        return self._store(record)

    async def update(self, record: LeaseRecord, version: str) -> StoredLease:
        await self._reach()
        if self.stored is None or self.stored.version != version:
            raise LeaseError("conflict")
        return self._store(record)

    async def _reach(self) -> None:
        await asyncio.sleep(0)
        if self.hangs is not None:
            await self.hangs.wait()
        if self.is_away:
            raise LeaseError("away")

    def _store(self, record: LeaseRecord) -> StoredLease:
        self.version += 1
        created_at = self.created_at if self.stored is None else self.stored.created_at
        self.stored = StoredLease(
            record=record, version=str(self.version), lease="ns/lease", created_at=created_at
        )
        self.writes.append(record)
        return self.stored

    @property
    def holder(self) -> str:
        return self.stored.record.holder if self.stored else ""


class Candidate:
    """A process that would lead, and remembers since when it does."""

    def __init__(self, name: str, lease: LeaseInMemory, clock: SteppedClock) -> None:
        self.clock = clock
        self.fence = Fence(clock)
        self.election = Election(
            ElectionSettings(identity=name), lease, clock, Random(name), fence=self.fence
        )
        self.led_from: float | None = None
        self.led_until: float | None = None
        self.task = asyncio.ensure_future(self.election.run(self.lead))

    async def lead(self) -> None:
        self.led_from = self.clock.monotonic()
        try:
            await asyncio.Event().wait()
        finally:
            self.led_until = self.clock.monotonic()

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_the_first_candidate_leads_and_renews() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(30 * SECOND)

    assert a.led_from == 0
    assert a.election.is_leader
    assert len(lease.writes) == 16, "once, then every two seconds"
    assert {w.acquired_at for w in lease.writes} == {clock.now() - 30 * SECOND}
    assert lease.writes[-1].renewed_at == clock.now()
    await a.stop()


async def test_the_second_candidate_waits_while_the_first_renews() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a, b = Candidate("a", lease, clock), Candidate("b", lease, clock)
    await clock.run(timedelta(minutes=5))
    assert [a.led_from is None, b.led_from is None] == [False, True]
    assert b.election.holder == "a"
    await b.stop()
    await a.stop()


async def test_a_candidate_says_once_why_it_cannot_reach_the_lease(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, lease = SteppedClock(), LeaseInMemory(is_away=True)
    a = Candidate("a", lease, clock)
    await clock.run(SECOND)
    assert "leadership not acquired" not in caplog.messages, "another copy may have been first"
    await clock.run(timedelta(minutes=5))
    told = [record for record in caplog.records if record.msg == "leadership not acquired"]
    assert [vars(record)["error"] for record in told] == ["away"]
    lease.is_away = False
    await clock.run(10 * SECOND)
    assert a.election.is_leader
    await a.stop()


async def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a, b = Candidate("a", lease, clock), Candidate("b", lease, clock)
    await clock.run(20 * SECOND)
    await a.stop()
    assert lease.holder == ""
    await clock.run(5 * SECOND)
    assert b.election.is_leader
    assert lease.stored is not None
    assert lease.stored.record.transitions == 1
    await b.stop()


async def test_the_lease_of_a_dead_leader_is_taken_only_after_it_stood_still_for_its_duration() -> (
    None
):
    clock, lease = SteppedClock(), LeaseInMemory()
    dead = LeaseRecord(
        holder="dead", duration=15 * SECOND, acquired_at=clock.now(), renewed_at=clock.now()
    )
    lease.stored = StoredLease(record=dead, version="0")
    clock.advance(timedelta(hours=1))  # by the clock of its record it is long over
    b = Candidate("b", lease, clock)
    started_at = clock.monotonic()
    await clock.run(14 * SECOND)
    assert not b.election.is_leader, "clocks differ: what counts is what we saw ourselves"
    await clock.run(6 * SECOND)
    assert b.led_from is not None
    assert b.led_from - started_at >= 15
    await b.stop()


async def test_a_leader_that_cannot_renew_stops_before_another_one_starts() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(20 * SECOND)
    lease.is_away = True
    b = Candidate("b", lease, clock)
    await clock.run(11 * SECOND)
    assert a.led_until is not None
    assert a.led_until <= 30
    lease.is_away = False
    await clock.run(30 * SECOND)
    assert b.led_from is not None
    assert b.led_from > a.led_until
    await b.stop()


async def test_a_leader_whose_renewal_hangs_stops_at_its_deadline() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(20 * SECOND)
    lease.hangs = asyncio.Event()
    await clock.run(10 * SECOND)
    assert not a.election.is_leader
    assert a.led_until == 30
    assert a.task.done()


async def test_a_leader_that_finds_another_name_in_the_lease_stops_at_once() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(SECOND)
    assert lease.stored is not None
    thief = LeaseRecord(
        holder="thief", duration=15 * SECOND, acquired_at=clock.now(), renewed_at=clock.now()
    )
    lease.stored = StoredLease(record=thief, version="900")
    await clock.run(5 * SECOND)
    assert a.led_until is not None
    assert a.led_until <= 4
    assert lease.holder == "thief", "what is not ours is not given back"
    await a.stop()


async def test_a_short_absence_of_the_server_costs_nothing() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(20 * SECOND)
    lease.is_away = True
    await clock.run(6 * SECOND)
    lease.is_away = False
    await clock.run(20 * SECOND)
    assert a.led_until is None
    assert a.election.is_leader
    await a.stop()


async def test_when_the_work_ends_the_lease_is_given_back() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()

    async def lead() -> None:
        await clock.sleep(3 * SECOND)

    election = Election(ElectionSettings(identity="a"), lease, clock, Random(0))
    task = asyncio.ensure_future(election.run(lead))
    await clock.run(4 * SECOND)
    assert task.done()
    assert lease.holder == ""
    assert not election.is_leader


async def test_an_error_in_the_work_reaches_the_caller_and_gives_the_lease_back() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()

    async def lead() -> None:
        raise ValueError("a bug")

    election = Election(ElectionSettings(identity="a"), lease, clock, Random(0))
    with pytest.raises(ExceptionGroup) as caught:
        await election.run(lead)
    assert caught.group_contains(ValueError, match="a bug")
    assert lease.holder == ""


async def test_of_many_candidates_on_a_flaky_server_never_two_lead_at_once() -> None:
    clock, lease, chance = SteppedClock(), LeaseInMemory(), Random(1)
    candidates = [Candidate(name, lease, clock) for name in "abcd"]
    reigns: set[str] = set()
    for _ in range(300):
        lease.is_away = chance.random() < 0.7
        await clock.run(timedelta(seconds=chance.uniform(0.1, 4)))
        leaders = [c for c in candidates if c.election.is_leader]
        assert len(leaders) <= 1
        reigns |= {lease.holder}
        for index, candidate in enumerate(candidates):
            if candidate.task.done():
                candidates[index] = Candidate("abcd"[index], lease, clock)
    assert len(reigns) > 2, "leadership did change hands"
    lease.is_away = False
    await settle()
    for candidate in candidates:
        await candidate.stop()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param({"identity": ""}, "identity", id="no-identity"),
        pytest.param({"identity": "a", "renew_deadline": 20 * SECOND}, "renew", id="too-long"),
        pytest.param({"identity": "a", "retry_period": 9 * SECOND}, "retry", id="too-lazy"),
    ],
)
def test_settings_that_would_allow_two_leaders_are_refused(
    settings: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        ElectionSettings(**settings)  # type: ignore[arg-type] # a table of wrong arguments


def epoch(transitions: int, created_at: datetime = EPOCH) -> LeaderEpoch:
    return LeaderEpoch(lease="ns/lease", lease_created_at=created_at, transitions=transitions)


async def test_each_leader_has_a_later_epoch_than_the_one_before() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(10 * SECOND)
    assert a.fence.epoch == epoch(0)
    await a.stop()
    b = Candidate("b", lease, clock)
    await clock.run(10 * SECOND)
    assert b.fence.epoch == epoch(1)
    await b.stop()


async def test_a_leader_that_makes_its_lease_anew_has_a_later_epoch() -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(10 * SECOND)
    lease.stored, lease.created_at = None, EPOCH + 10 * SECOND
    await clock.run(10 * SECOND)
    assert a.led_until is None
    assert a.fence.epoch == epoch(0, EPOCH + 10 * SECOND)
    await a.stop()


async def test_a_leader_that_is_told_of_a_newer_one_stops_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, lease = SteppedClock(), LeaseInMemory()
    a = Candidate("a", lease, clock)
    await clock.run(SECOND)
    a.fence.refuse()
    await settle()
    assert a.task.done()
    assert lease.holder == "a", "what may not be ours is not given back"
    assert "leadership lost to a newer leader" in caplog.messages
