"""Carries out what the record of a rollback says, step by step, as far as it goes."""

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.annotations import UNUSED_SINCE_MADE
from plimsoll.decide.csi.steps import NotAsked
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.calls import CallFailed, Code
from plimsoll.decide.rollback.records import RollbackRecord, UnusedProof
from plimsoll.decide.rollback.steps import (
    CheckProof,
    DeleteAsset,
    Doubt,
    End,
    EnterState,
    LeaveAlone,
    MakeWrites,
    RollbackStep,
    WaitForClaim,
    after_deletion,
    after_proof,
    keep,
    next_step,
)
from plimsoll.decide.rollback.telling import RollbackReason, tell_done
from plimsoll.enact.enactor import Done, Outcome, Overtaken
from plimsoll.processes.controller.csi.driver_calls import DriverCalls
from plimsoll.processes.controller.csi.drivers import KnownDriver, KnownDrivers
from plimsoll.processes.controller.rollback.book import RollbackBook
from plimsoll.processes.controller.rollback.reading import VOLUMES, Reading, read_rollback_view
from plimsoll.processes.controller.rollback.usage import UsageWatch
from plimsoll.reconcile.loop import Tools
from plimsoll.runtime.clock import NO_TIME
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2 as pools
from plimsoll.wire.errors import Failure

log = logging.getLogger(__name__)

AT_ONCE = NO_TIME
DRIVER_RECHECK = timedelta(seconds=10)
WATCH_RECHECK = timedelta(seconds=1)
KEPT_RECHECK = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Again:
    """Look again after this time."""

    after: timedelta = AT_ONCE


@dataclass(frozen=True, slots=True)
class RollbackOver:
    is_put_back: bool


@dataclass(frozen=True, slots=True)
class TryLater:
    """A write was overtaken or refused: look again after a while that grows."""


@dataclass(frozen=True, slots=True)
class Held:
    """A tenant or a pod keeps the claim, perhaps for good: look again ever more seldom."""


Settled = Again | RollbackOver | TryLater | Held


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackSteps:
    tools: Tools
    book: RollbackBook
    drivers: KnownDrivers
    calls: DriverCalls
    usage: UsageWatch

    async def step(self, record: RollbackRecord) -> Settled:
        """One step. Raises KubeError."""
        reading = await self._read(record)
        step = next_step(record, reading.view)
        if isinstance(step, CheckProof):
            checked = await self._check(record, reading)
            return checked if isinstance(checked, Again) else await self._do(record, checked)
        if isinstance(step, DeleteAsset):
            return await self._delete_asset(record)
        return await self._do(record, step)

    async def _read(self, record: RollbackRecord) -> Reading:
        return await read_rollback_view(self.tools.client, record.volume_name, record.claim_key)

    async def _do(self, record: RollbackRecord, step: RollbackStep) -> Settled:
        match step:
            case MakeWrites(plan=plan):
                return Again() if isinstance(await self._enact(plan), Done) else TryLater()
            case EnterState(state=state, plan=plan, was_used=was_used):
                await self.book.enter(record, state, was_used=was_used)
                await self._enact(plan or Plan(reason=RollbackReason.BEGUN))
                return Again()
            case WaitForClaim(plan=plan):
                await self._enact(plan)
                return Held()
            case End(plan=plan):
                return await self._end(record, step)
            case LeaveAlone():
                return Again(KEPT_RECHECK)
            case CheckProof() | DeleteAsset():
                raise AssertionError("both lead to another step first")
            case _:
                assert_never(step)

    async def _end(self, record: RollbackRecord, end: End) -> Settled:
        outcome = await self._enact(end.plan)
        if not isinstance(outcome, Done) and not _is_pointless(outcome):
            return TryLater()
        if end.plan.reason == RollbackReason.DONE:
            created = _claim_in(outcome)
            told = Plan(reason=RollbackReason.DONE, writes=(tell_done(record, created),))
            await self._enact(told)
        await self.book.drop(record)
        return RollbackOver(end.is_put_back)

    async def _enact(self, plan: Plan) -> Outcome:
        outcome = await self.tools.enactor.enact(plan)
        if isinstance(outcome, Done):
            self.tools.observed.written(outcome.left)
        return outcome

    # The proof

    async def _check(self, record: RollbackRecord, reading: Reading) -> RollbackStep | Again:
        """Step 7: what the lists showed must have been told by the watches as well."""
        if record.proof is UnusedProof.DRIVER:
            return after_proof(record, reading.view, None)
        if record.watch != self.usage.id:
            doubt = Doubt(why="the controller that watched it since it was made is gone")
            return after_proof(record, reading.view, doubt)
        if not await self._passed(record, reading):
            return Again()
        return after_proof(record, reading.view, self._find_doubt(record, reading))

    async def _passed(self, record: RollbackRecord, reading: Reading) -> bool:
        """Waits; False: meanwhile the watch had a gap, which the next look finds out."""
        while not self.usage.has_passed(reading.versions):
            if self.usage.id != record.watch:
                return False
            await self.tools.clock.sleep(WATCH_RECHECK)
        return True

    def _find_doubt(self, record: RollbackRecord, reading: Reading) -> Doubt | None:
        volume = reading.view.volume
        if volume is None:
            return Doubt(why="it is gone")
        is_marked = volume.annotations.get(UNUSED_SINCE_MADE) == record.watch
        found = self.usage.find_doubt(volume, reading.view.nodes)
        return found or (None if is_marked else Doubt(why="its mark was taken off"))

    # The driver

    async def _delete_asset(self, record: RollbackRecord) -> Settled:
        driver = self.drivers.find(record.driver)
        if driver is None:
            return Again(DRIVER_RECHECK)
        failure = await self._ask(record, driver)
        if failure is not None:
            if isinstance(failure, CallFailed) and failure.code is Code.FAILED_PRECONDITION:
                return await self._do(record, keep(record, failure.message, was_used=True))
            if isinstance(failure, CallFailed) and failure.code is Code.UNIMPLEMENTED:
                why = "its driver cannot tell any more whether it was used"
                return await self._do(record, keep(record, why, was_used=False))
            return TryLater()
        log.info("unused volume deleted", extra={"volume": record.volume_name})
        volume = await self.tools.client.find(VOLUMES, ObjectKey("", record.volume_name))
        if volume is None or volume.uid != record.volume_uid:
            return Again()
        return await self._do(record, after_deletion(volume))

    async def _ask(
        self, record: RollbackRecord, driver: KnownDriver
    ) -> CallFailed | NotAsked | None:
        """None: it is deleted."""
        secret, volume_id = record.secret_reference, record.volume_id
        if record.proof is UnusedProof.DRIVER:
            answer = await self.calls.call(
                driver,
                methods.DELETE_NEVER_PUBLISHED,
                lambda secrets: pools.DeleteNeverPublishedRequest(
                    volume_id=volume_id, secrets=secrets
                ),
                secret,
            )
            return answer if isinstance(answer, CallFailed | NotAsked) else None
        deleted = await self.calls.call(
            driver,
            methods.DELETE_VOLUME,
            lambda secrets: csi.DeleteVolumeRequest(volume_id=volume_id, secrets=secrets),
            secret,
        )
        return deleted if isinstance(deleted, CallFailed | NotAsked) else None


def _is_pointless(outcome: Outcome) -> bool:
    """The claim cannot be created again: its namespace is gone."""
    return isinstance(outcome, Overtaken) and outcome.error.failure is Failure.NOT_FOUND


def _claim_in(outcome: Outcome) -> Document | None:
    left = outcome.left if isinstance(outcome, Done) else ()
    return next((each for each in left if each["kind"] == "PersistentVolumeClaim"), None)
