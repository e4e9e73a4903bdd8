"""Takes back volumes that are bound and unused, where only they keep a pod from running.

It looks at all pods that have waited for long; what it finds is confirmed by the server and by the
driver before a record is stored. What a record says is then done step by step, by this process or
by the next one: `settling`.
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, replace
from datetime import timedelta

from plimsoll.api.meta import ObjectKey, wire_time
from plimsoll.api.storage import StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import ROLLBACK, ROLLED_BACK, UNUSED_SINCE_MADE, UNUSED_VOLUMES
from plimsoll.decide.plan import Patch, Plan
from plimsoll.decide.provisioning.volume import DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE
from plimsoll.decide.resources import VOLUMES as VOLUME_RESOURCE
from plimsoll.decide.rollback.manifest import claim_manifest, is_left_to_controller
from plimsoll.decide.rollback.mode import ROLLBACK_AFTER, RollbackMode
from plimsoll.decide.rollback.objections import find_lasting, find_uses
from plimsoll.decide.rollback.records import RollbackRecord, UnusedProof, fits
from plimsoll.decide.rollback.relocation import BoundPair, Relocation, is_recreated
from plimsoll.decide.rollback.telling import RollbackReason, audit_of, tell_begun, tell_plan
from plimsoll.enact.enactor import Done, Outcome
from plimsoll.processes.controller.csi.csi_loop import NO_DRIVERS, CsiLoop, CsiSettings
from plimsoll.processes.controller.rollback.book import RollbackBook
from plimsoll.processes.controller.rollback.finding import Finder
from plimsoll.processes.controller.rollback.proving import Prover, Unproven
from plimsoll.processes.controller.rollback.reading import (
    CLAIMS,
    NODES,
    PODS,
    read_rollback_view,
)
from plimsoll.processes.controller.rollback.settling import (
    Again,
    Held,
    RollbackOver,
    RollbackSteps,
    TryLater,
)
from plimsoll.processes.controller.rollback.usage import UsageWatch
from plimsoll.reconcile.loop import Tools
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import documents, typed

log = logging.getLogger(__name__)

LOOK = ObjectKey("", "look")
RECORD_KEYS, VOLUME_KEYS = "records", "volumes"
"""In the place of a namespace: what a key is about."""
MINUTE = timedelta(minutes=1)
TELL_AGAIN = timedelta(minutes=30)
"""Servers keep events for an hour."""
LOAD_AGAIN = timedelta(seconds=5)
HELD_RECHECK, HELD_RECHECK_AT_MOST = timedelta(seconds=2), timedelta(minutes=5)
PART_WAITED = 10
"""How many times longer a claim has been waited for than the pause before the next look."""
CLASSES = typed(StorageClass)
CLAIM_DOCUMENTS = documents(CLAIMS.resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackSettings:
    mode: RollbackMode = RollbackMode.OFF
    namespace: str = "kube-system"
    """Where the records are."""
    after: timedelta = ROLLBACK_AFTER
    """How long a pod must have waited for a node."""
    every: timedelta = timedelta(seconds=10)
    """How often all pods are looked at."""
    pause: timedelta = timedelta(minutes=5)
    """How long a claim is left alone after a rollback that was put back, or could not begin; it
    doubles with every volume that was taken back for the same claim."""
    per_minute: int = 10
    """How many pods at most."""


OFF = RollbackSettings()


class Rollbacks(CsiLoop):
    name = "rollback"
    workers = 4

    def __init__(
        self, tools: Tools, settings: CsiSettings = NO_DRIVERS, rollback: RollbackSettings = OFF
    ) -> None:
        super().__init__(tools, settings)
        self._rollback = rollback
        self._classes = tools.observed.of(StorageClass)
        self._volumes = tools.observed.of(PersistentVolume)
        self._book = RollbackBook(tools.client, rollback.namespace)
        self._usage = UsageWatch(tools.observed, tools.ids)
        self._usage.on_news = self._volume_news
        self._finder = Finder(tools.observed, tools.clock, rollback.after)
        self._prover = Prover(drivers=self.drivers, usage=self._usage)
        self._settling = RollbackSteps(
            tools=tools,
            book=self._book,
            drivers=self.drivers,
            calls=self.driver_calls,
            usage=self._usage,
        )
        self._recent: deque[float] = deque()
        self._paused: dict[ObjectKey, float] = {}
        """Claims that are left alone until then."""
        self._held: dict[str, float] = {}
        """By uid of the volume: since when its claim is in other hands."""
        self._told: dict[str, float] = {}
        """Dry run: by uid of the pod, when it was told."""
        self._marked: set[str] = set()
        """Volumes that were marked once, or may have been: no mark is ever set again."""
        self._counted = tools.metrics.counter(
            "plimsoll_controller_rollbacks_total",
            "Volumes that were to be taken back, by what became of it.",
            ("outcome",),
        )
        self._open = tools.metrics.gauge(
            "plimsoll_controller_rollbacks_open", "Rollbacks that are under way, or have to wait."
        )

    # What has to be looked at

    def driver_came(self, name: str) -> None:
        for key, volume in self._volumes.view().objects.items():
            if volume.spec.csi is not None and volume.spec.csi.driver == name:
                self._volume_news(key.name)

    def _volume_news(self, name: str) -> None:
        if self._rollback.mode is RollbackMode.ON:
            self.queue.add(ObjectKey(VOLUME_KEYS, name))

    async def run(self) -> None:
        if self._rollback.mode is RollbackMode.OFF:
            await asyncio.Event().wait()
        await self._load()
        self.queue.add(LOOK)
        await super().run()

    async def _load(self) -> None:
        while True:
            try:
                left = await self._book.load()
            except KubeError as error:
                log.warning("rollbacks not read", extra={"error": str(error)})
                await self.tools.clock.sleep(LOAD_AGAIN)
                continue
            for record in left:
                self.queue.add(ObjectKey(RECORD_KEYS, record.volume_uid))
            self._open.set(len(self._book))
            return

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        match key.namespace:
            case "":
                await self._look()
                return self._rollback.every
            case "records":
                return await self._settle(key)
            case _:
                await self._mark(key.name)
                return None

    # One record

    async def _settle(self, key: ObjectKey) -> timedelta | None:
        while (record := await self._book.find(key.name)) is not None:
            settled = await self._settling.step(record)
            match settled:
                case RollbackOver(is_put_back=is_put_back):
                    self._finish(record, is_put_back=is_put_back)
                case TryLater():
                    self.queue.add_rate_limited(key)
                    return None
                case Held():
                    return self._pause_of_held(key.name)
                case Again(after=after) if after:
                    return after
                case Again():
                    pass
        self.queue.forget(key)
        return None

    def _pause_of_held(self, uid: str) -> timedelta:
        """Every look reads much: a finalizer of a tenant could keep a claim for ever."""
        now = self.tools.clock.monotonic()
        waited = timedelta(seconds=now - self._held.setdefault(uid, now))
        return min(max(HELD_RECHECK, waited / PART_WAITED), HELD_RECHECK_AT_MOST)

    def _finish(self, record: RollbackRecord, *, is_put_back: bool) -> None:
        outcome = "put-back" if is_put_back else "kept" if record.was_used else "done"
        self._held.pop(record.volume_uid, None)
        self._counted.labels(outcome=outcome).inc()
        self._open.set(len(self._book))
        log.info("rollback ended", extra={"volume": record.volume_name, "outcome": outcome})
        if is_put_back:
            self._pause(record.claim_key)

    # All pods

    async def _look(self) -> None:
        now = self.tools.clock.monotonic()
        self._paused = {claim: until for claim, until in self._paused.items() if until > now}
        self._told = {
            uid: at for uid, at in self._told.items() if now - at < TELL_AGAIN.total_seconds()
        }
        for relocation in list(self._finder.relocations()):
            if not any(pair.claim.key in self._paused for pair in relocation.pairs):
                await self._consider(relocation)

    async def _consider(self, relocation: Relocation) -> None:
        pod = relocation.pod
        if self._rollback.mode is RollbackMode.DRY_RUN and pod.uid in self._told:
            return
        records = await self._prepare(relocation)
        if isinstance(records, Unproven):
            facts = {"pod": str(pod.key), "why": records.why}
            log.info("volumes not taken back", extra=facts)
            for pair in relocation.pairs if not records.is_passing else ():
                self._pause(pair.claim.key)
        elif self._rollback.mode is RollbackMode.DRY_RUN:
            self._told[pod.uid] = self.tools.clock.monotonic()
            self._counted.labels(outcome="rehearsed").inc()
            await self.enact(LOOK, tell_plan(relocation, records))
        elif self._may_begin():
            await self._begin(records)

    async def _begin(self, records: list[RollbackRecord]) -> None:
        for record in records:
            facts = {"volume": record.volume_name, "pod": record.pod, "proof": record.proof}
            log.info("volume taken back", extra=facts)
            try:
                await self._book.store(record)
            except KubeError:
                # It may be stored. If it is not, the next look begins anew, without a pause.
                self.queue.add(ObjectKey(RECORD_KEYS, record.volume_uid))
                raise
            self._pause(record.claim_key, record.times)
            told = Plan(reason=RollbackReason.BEGUN, writes=(tell_begun(record),))
            await self.tools.enactor.enact(told)
            self.queue.add(ObjectKey(RECORD_KEYS, record.volume_uid))
        self._open.set(len(self._book))

    async def _prepare(self, relocation: Relocation) -> list[RollbackRecord] | Unproven:
        """Records for all volumes that have to go; if one of them may not, none is touched."""
        live = await self.tools.client.find(PODS, relocation.pod.key)
        if live is None or live.uid != relocation.pod.uid or live.spec.node_name:
            return Unproven("the pod is gone, or has a node by now")
        records: list[RollbackRecord] = []
        for pair in relocation.pairs:
            record = await self._record(pair, relocation)
            if isinstance(record, Unproven):
                return replace(record, why=f"volume {pair.volume.name}: {record.why}")
            records.append(record)
        return records

    async def _record(self, pair: BoundPair, relocation: Relocation) -> RollbackRecord | Unproven:
        client, pod = self.tools.client, relocation.pod
        document = await client.find(CLAIM_DOCUMENTS, pair.claim.key)
        storage_class = await client.find(CLASSES, ObjectKey("", pair.claim.storage_class))
        reading = await read_rollback_view(client, pair.volume.name, pair.claim.key)
        volume, view = reading.view.volume, reading.view
        if volume is None or document is None or volume.spec.csi is None:
            return Unproven("it is gone")
        claim = from_document(PersistentVolumeClaim, document)
        objection = find_lasting(volume, claim, storage_class) or next(
            find_uses(volume, view), None
        )
        if objection is not None:
            return Unproven(str(objection))
        proof = await self._prover.prove(volume, pod, view)
        if isinstance(proof, Unproven):
            return proof
        if proof is UnusedProof.WATCHED and not self._is_marked(volume):
            return Unproven("its mark is missing")
        before = audit_of(claim.annotations.get(ROLLED_BACK, ""))
        record = RollbackRecord(
            volume_name=volume.name,
            volume_uid=volume.uid,
            volume_version=volume.metadata.resource_version,
            driver=volume.spec.csi.driver,
            volume_id=volume.spec.csi.volume_handle,
            claim=claim_manifest(document),
            claim_uid=claim.uid,
            pod=str(pod.key),
            pod_uid=pod.uid,
            deletes_pod=is_recreated(pod),
            recreates_claim=not is_left_to_controller(claim, pod),
            proof=proof,
            watch=self._usage.id if proof is UnusedProof.WATCHED else "",
            node=relocation.node,
            why=relocation.why,
            secret=_secret_of(volume),
            begun_at=wire_time(self.tools.clock.now()),
            times=1 + (before.times if before else 0),
        )
        return record if fits(record) else Unproven("its claim is too large to be kept")

    def _is_marked(self, volume: PersistentVolume) -> bool:
        if self._rollback.mode is RollbackMode.DRY_RUN:
            return True
        return volume.annotations.get(UNUSED_SINCE_MADE) == self._usage.id

    def _pause(self, claim: ObjectKey, times: int = 1) -> None:
        pause = self._rollback.pause * (1 << min(times - 1, 10))
        until = self.tools.clock.monotonic() + pause.total_seconds()
        self._paused[claim] = max(until, self._paused.get(claim, 0.0))

    def _may_begin(self) -> bool:
        now = self.tools.clock.monotonic()
        while self._recent and now - self._recent[0] >= MINUTE.total_seconds():
            self._recent.popleft()
        if len(self._recent) >= self._rollback.per_minute:
            return False
        self._recent.append(now)
        return True

    # The mark, for drivers that cannot tell what was used

    async def _mark(self, name: str) -> None:
        """Set once, on a volume that was made under our eyes; taken off for ever when used."""
        volume = self._volumes.view().get(ObjectKey("", name))
        if volume is None or not self._is_for_mark(volume):
            return
        if not self._has_mark(volume) and not await self._prover.is_silent(volume):
            return
        nodes = {node.name: node for node in (await self.tools.client.list(NODES)).items}
        doubt, has_mark = self._usage.find_doubt(volume, nodes), self._has_mark(volume)
        if doubt and has_mark:
            await self._write_mark(volume, None)
        elif not doubt and not has_mark and volume.uid not in self._marked:
            self._marked.add(volume.uid)
            outcome = await self._write_mark(volume, self._usage.id)
            if not isinstance(outcome, Done) and outcome.error.is_certain:
                self._marked.discard(volume.uid)

    def _is_for_mark(self, volume: PersistentVolume) -> bool:
        class_ = self._classes.view().get(ObjectKey("", volume.storage_class))
        return self._has_mark(volume) or (
            class_ is not None
            and class_.annotations.get(ROLLBACK) == UNUSED_VOLUMES
            and volume.spec.csi is not None
        )

    def _has_mark(self, volume: PersistentVolume) -> bool:
        return UNUSED_SINCE_MADE in volume.annotations

    async def _write_mark(self, volume: PersistentVolume, mark: str | None) -> Outcome:
        patch = Patch(
            resource=VOLUME_RESOURCE,
            key=volume.key,
            patch={"metadata": {"annotations": {UNUSED_SINCE_MADE: mark}}},
            uid=volume.uid,
        )
        key = ObjectKey(VOLUME_KEYS, volume.name)
        return await self.enact(key, Plan(reason="UnusedSinceMade", writes=(patch,)))


def _secret_of(volume: PersistentVolume) -> dict[str, str]:
    name = volume.annotations.get(DELETION_SECRET_NAME, "")
    namespace = volume.annotations.get(DELETION_SECRET_NAMESPACE, "")
    return {"namespace": namespace, "name": name} if name and namespace else {}
