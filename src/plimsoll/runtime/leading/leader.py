"""Leader election by Lease: of several copies of a process at most one acts.

Compatible with other programs that elect through Lease objects: the same fields mean the same.
Clocks of different machines are never compared. A candidate notes by its own clock when it last
saw the record change; only when the record stood still for the duration written in it is the
leader taken for dead. A leader stops by its own clock `renew_deadline` after it sent its last
renewal, which is before another candidate may take over. The fence says so to everything that has
an effect, also before the leader itself gets to know: a process that was stopped wakes with much to
do, and its timers are only one part of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Protocol

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.runtime.leading.fence import Fence

log = logging.getLogger(__name__)

JITTER = 1.2
RELEASED_DURATION = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """What a Lease says; an empty holder means that it was given back."""

    holder: str
    duration: timedelta
    acquired_at: datetime | None
    renewed_at: datetime | None
    transitions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLease:
    record: LeaseRecord
    version: str
    """The resourceVersion that an update must name."""
    lease: str = ""
    """Its namespace and name."""
    created_at: datetime | None = None
    """When the server made it; None where leases are not made by a server."""
    noted_transitions: int | None = None
    """At which count of transitions a copy of ours last held it; None: none has said so."""
    noted_own_since: int | None = None
    """Since which count only copies of ours had held it then."""

    @property
    def own_since(self) -> int | None:
        """Since which count of transitions only copies of ours have held it; None: its holder is,
        or was, another program."""
        is_ours = self.noted_transitions == self.record.transitions
        return self.noted_own_since if is_ours else None

    @property
    def epoch(self) -> LeaderEpoch | None:
        """Of its holder."""
        if self.created_at is None:
            return None
        transitions = self.record.transitions
        return LeaderEpoch(
            lease=self.lease, lease_created_at=self.created_at, transitions=transitions
        )


class LeaseError(Exception):
    """The lease could not be read or written: another writer was first, or no answer came."""


class LeaseStore(Protocol):
    """Where one lease is kept. Every method raises LeaseError when it does not succeed."""

    async def read(self) -> StoredLease | None: ...

    async def create(self, record: LeaseRecord) -> StoredLease: ...

    async def update(self, record: LeaseRecord, version: str) -> StoredLease: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSettings:
    identity: str
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("leader election: the identity is empty; give each copy its own")
        if not self.retry_period * JITTER < self.renew_deadline < self.lease_duration:
            raise ValueError(
                "leader election: the retry period (with jitter) must be shorter than the renew "
                "deadline, and that shorter than the lease duration"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseObservation:
    """The lease as last seen, and when (by our own clock) it was last seen to change."""

    stored: StoredLease
    changed_at: float

    def is_expired(self, monotonic: float) -> bool:
        """Expired leases and leases that were given back may be taken."""
        record = self.stored.record
        return not record.holder or monotonic >= self.changed_at + record.duration.total_seconds()


def observe(
    known: LeaseObservation | None, stored: StoredLease, monotonic: float
) -> LeaseObservation:
    if known is not None and known.stored.record == stored.record:
        return replace(known, stored=stored)
    return LeaseObservation(stored=stored, changed_at=monotonic)


def next_record(settings: ElectionSettings, held: LeaseRecord | None, now: datetime) -> LeaseRecord:
    """What we would write: a renewal if the lease is ours, otherwise a takeover."""
    fresh = LeaseRecord(
        holder=settings.identity, duration=settings.lease_duration, acquired_at=now, renewed_at=now
    )
    if held is None:
        return fresh
    if held.holder == settings.identity:
        return replace(fresh, acquired_at=held.acquired_at, transitions=held.transitions)
    return replace(fresh, transitions=held.transitions + 1)


class Election:
    def __init__(
        self,
        settings: ElectionSettings,
        store: LeaseStore,
        clock: Clock,
        chance: Random,
        *,
        fence: Fence | None = None,
    ) -> None:
        """`fence` is asked by everything that acts for the leader."""
        self._settings = settings
        self._fence = fence or Fence(clock)
        self._store = store
        self._clock = clock
        self._chance = chance
        self._seen: LeaseObservation | None = None
        self._ours: StoredLease | None = None
        self._problem = ""
        """Why the last attempt to read or write the lease failed; empty: it did not."""
        self._leads = False

    @property
    def is_leader(self) -> bool:
        """True while no other candidate can believe to be the leader; checked by the clock."""
        return self._leads and self._fence.is_open

    @property
    def holder(self) -> str:
        """Who held the lease when last seen; empty when no candidate did."""
        return self._seen.stored.record.holder if self._seen else ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait to become the leader, then lead.

        Returns when `lead` returns or when leadership is lost; `lead` has been cancelled by then.
        The lease is given back unless it was lost. Errors of `lead` come in an ExceptionGroup.
        """
        await self._acquire()
        log.info("leadership acquired", extra={"identity": self._settings.identity})
        try:
            await self._lead_while_renewing(lead)
        finally:
            await self._release()

    async def _acquire(self) -> None:
        told, before, told_problem = False, "", ""
        while not await self._try_to_hold():
            if self.holder and not told:
                log.warning("leadership held by another copy", extra={"holder": self.holder})
                told = True
            # Once is nothing: another copy was first, or the server is being started.
            if self._problem and self._problem == before != told_problem:
                log.warning("leadership not acquired", extra={"error": self._problem})
                told_problem = before
            before = self._problem
            await self._clock.sleep(
                self._settings.retry_period * self._chance.uniform(1.0, 1.0 + JITTER)
            )
        self._leads = True

    async def _lead_while_renewing(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Whichever of these ends first ends the others."""
        async with asyncio.TaskGroup() as group:
            tasks = (
                group.create_task(_awaited(lead), name="lead"),
                group.create_task(self._renew_until_lost(), name="renew-lease"),
                group.create_task(self._lost_when_refused(), name="watch-fence"),
            )
            for task in tasks:
                task.add_done_callback(lambda _: [each.cancel() for each in tasks])

    async def _renew_until_lost(self) -> None:
        while self._leads:
            await self._clock.sleep(self._settings.retry_period)
            try:
                async with self._clock.timeout(timedelta(seconds=self._fence.seconds_left)):
                    await self._renew()
            except TimeoutError:
                self._leads = False
        log.warning("leadership lost", extra={"identity": self._settings.identity})

    async def _lost_when_refused(self) -> None:
        await self._fence.refused()
        self._leads = False
        facts = {"identity": self._settings.identity}
        if self._fence.seconds_left:
            log.warning("leadership lost to a newer leader", extra=facts)
        else:
            log.warning("leadership lost by the clock", extra=facts)

    async def _renew(self) -> None:
        while not await self._try_to_hold():
            if self._seen is not None and self.holder != self._settings.identity:
                self._leads = False  # another copy has it: no reason to wait for the deadline
                return
            await self._clock.sleep(self._settings.retry_period)

    async def _try_to_hold(self) -> bool:
        """Read the lease, and take or renew it where that is allowed."""
        asked_at, sent_after = self._clock.monotonic(), self._clock.boottime()
        stored, self._ours = self._ours, None  # known to be current until a request fails
        self._problem = ""
        try:
            stored = stored or await self._store.read()
            self._ours = await self._write_or_wait(stored)
        except LeaseError as error:
            self._problem = str(error)
            log.debug("lease not written", extra={"error": self._problem})
        if self._ours is None:
            return False
        self._seen = observe(self._seen, self._ours, asked_at)
        # What others see of the renewal they see later than this.
        until = sent_after + self._settings.renew_deadline.total_seconds()
        if not self._leads:
            self._fence.own_since = self._ours.own_since
        self._fence.extend(until, self._ours.epoch)
        return True

    async def _write_or_wait(self, stored: StoredLease | None) -> StoredLease | None:
        now = self._clock.now()
        if stored is None:
            return await self._store.create(next_record(self._settings, None, now))
        self._seen = observe(self._seen, stored, self._clock.monotonic())
        is_ours = stored.record.holder == self._settings.identity
        if not is_ours and not self._seen.is_expired(self._clock.monotonic()):
            return None
        record = next_record(self._settings, stored.record, now)
        return await self._store.update(record, stored.version)

    async def _release(self) -> None:
        """Give the lease back, so that the next leader need not wait for it to expire."""
        was_leader, self._leads = self.is_leader, False
        self._fence.close()
        if not was_leader:
            return
        try:
            async with self._clock.timeout(self._settings.retry_period):
                await self._give_back()
        except (LeaseError, TimeoutError) as error:
            log.warning("lease not released", extra={"error": str(error)})

    async def _give_back(self) -> None:
        stored = self._ours or await self._store.read()
        if stored is None or stored.record.holder != self._settings.identity:
            return
        now = self._clock.now()
        record = replace(
            stored.record, holder="", duration=RELEASED_DURATION, acquired_at=now, renewed_at=now
        )
        await self._store.update(record, stored.version)
        log.info("leadership released", extra={"identity": self._settings.identity})


async def _awaited(lead: Callable[[], Awaitable[None]]) -> None:
    await lead()
