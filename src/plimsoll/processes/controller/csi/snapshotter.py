"""Takes snapshots: `decide.csi.snapshots` for snapshots, their contents, and their claims.

They share one queue. A key without a namespace is a content, one whose name begins with `claim/`,
as no object's can, is a claim; all others are snapshots. Contents of drivers that are not known
here are left to other snapshotters: only what holds for all drivers is done about them.
"""

from datetime import timedelta
from typing import assert_never

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import (
    ContentStatus,
    VolumeSnapshot,
    VolumeSnapshotClass,
    VolumeSnapshotContent,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.csi.snapshots.content import (
    ContentCall,
    ContentContext,
    DeleteSnapshot,
    FindSnapshot,
    SnapshotContentReason,
    Taken,
    TakeSnapshot,
    decide_content,
    decide_deleted,
    decide_not_deleted,
    decide_not_taken,
    decide_protection,
    decide_taken,
)
from plimsoll.decide.csi.snapshots.deletion import decide_source
from plimsoll.decide.csi.snapshots.names import BEING_CREATED, GROUP, content_name
from plimsoll.decide.csi.snapshots.snapshot import decide_snapshot
from plimsoll.decide.csi.snapshots.view import SnapshotView
from plimsoll.decide.csi.steps import Failure, NotAsked
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.calls import CallFailed
from plimsoll.processes.controller.csi.call_pauses import CallPauses
from plimsoll.processes.controller.csi.csi_loop import NO_DRIVERS, CsiLoop, CsiSettings
from plimsoll.processes.controller.csi.drivers import KnownDriver
from plimsoll.processes.controller.csi.snapshot_calls import SnapshotCalls
from plimsoll.reconcile.loop import Tools
from plimsoll.runtime.clock import NO_TIME

CLAIM = "claim/"
SNAPSHOTS_BY_CLAIM = "source claim"
CLAIMS_BY_SNAPSHOT = "source snapshot"


class Snapshotter(CsiLoop):
    name = "snapshotter"
    workers = 10

    def __init__(self, tools: Tools, settings: CsiSettings = NO_DRIVERS) -> None:
        super().__init__(tools, settings)
        observed = tools.observed
        self._snapshots = observed.of(VolumeSnapshot)
        self._contents = observed.of(VolumeSnapshotContent)
        self._classes = observed.of(VolumeSnapshotClass)
        self._claims = observed.of(PersistentVolumeClaim)
        self._volumes = observed.of(PersistentVolume)
        self._snapshots.index(SNAPSHOTS_BY_CLAIM, _claim_of)
        self._claims.index(CLAIMS_BY_SNAPSHOT, _made_of)
        self._snapshots.on_change(self._snapshot_changed)
        self._contents.on_change(self._content_changed)
        self._classes.on_change(self._class_changed)
        self._claims.on_change(self._claim_changed)
        self._volumes.on_change(self._volume_changed)
        self._calls = SnapshotCalls(self.driver_calls)
        self._pauses = CallPauses(tools.clock, tools.chance)

    # Which objects have to be looked at

    def _snapshot_changed(self, change: StoreChange[VolumeSnapshot]) -> None:
        self.queue.add(change.key)
        for snapshot in (change.before, change.after):
            if snapshot is not None:
                self.queue.add(ObjectKey("", content_name(snapshot)))
                for claim in map(ObjectKey.parse, _claim_of(snapshot)):
                    self.queue.add(ObjectKey(claim.namespace, CLAIM + claim.name))

    def _content_changed(self, change: StoreChange[VolumeSnapshotContent]) -> None:
        """That an error was noted down is no reason to try again at once."""
        before, after = change.before, change.after
        if before is None or after is None or _essence(before) != _essence(after):
            self.queue.add(change.key)
        for content in (before, after):
            if content is not None:
                self.queue.add(content.spec.volume_snapshot_ref.key)
        if before is None:
            # A snapshot may name this content.
            self._add_waiting()

    def _class_changed(self, change: StoreChange[VolumeSnapshotClass]) -> None:
        self._add_waiting()
        for key, content in self._contents.view().objects.items():
            if content.spec.volume_snapshot_class_name == change.key.name:
                self.queue.add(key)

    def _add_waiting(self) -> None:
        for key, snapshot in self._snapshots.view().objects.items():
            if not snapshot.is_ready:
                self.queue.add(key)

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        self.queue.add(ObjectKey(change.key.namespace, CLAIM + change.key.name))
        self._add_of(change.key)
        for claim in (change.before, change.after):
            for name in _made_of(claim) if claim is not None else ():
                self.queue.add(ObjectKey.parse(name))

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        volume = change.after
        if volume is not None and volume.spec.claim is not None:
            self._add_of(volume.spec.claim)

    def _add_of(self, claim: ObjectKey) -> None:
        for key in self._snapshots.view().by(SNAPSHOTS_BY_CLAIM, str(claim)):
            self.queue.add(key)

    def driver_came(self, name: str) -> None:
        for key, content in self._contents.view().objects.items():
            if content.spec.driver == name:
                self.queue.add(key)

    # One of the three

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        if not key.namespace:
            await self._look_after_content(key)
        elif key.name.startswith(CLAIM):
            await self._look_after_claim(key)
        else:
            snapshot = self._snapshots.view().get(key)
            if snapshot is not None:
                await self.enact(key, decide_snapshot(snapshot, self._view(snapshot)))
        return None

    async def _look_after_claim(self, key: ObjectKey) -> None:
        claim_key = ObjectKey(key.namespace, key.name.removeprefix(CLAIM))
        claim = self._claims.view().get(claim_key)
        if claim is not None:
            snapshots = self._snapshots.view().by(SNAPSHOTS_BY_CLAIM, str(claim_key))
            await self.enact(key, decide_source(claim, snapshots.values()))

    def _view(self, snapshot: VolumeSnapshot) -> SnapshotView:
        claim = next(
            (self._claims.view().get(ObjectKey.parse(name)) for name in _claim_of(snapshot)), None
        )
        volume = claim.spec.volume_name if claim is not None else ""
        made_of_it = self._claims.view().by(CLAIMS_BY_SNAPSHOT, str(snapshot.key)).values()
        return SnapshotView(
            now=self.tools.clock.now(),
            content=lambda name: self._contents.view().get(ObjectKey("", name)),
            classes=tuple(each for _, each in sorted(self._classes.view().objects.items())),
            claim=claim,
            volume=self._volumes.view().get(ObjectKey("", volume)),
            restoring=tuple(each for each in made_of_it if each.status.phase == "Pending"),
        )

    # One content

    async def _look_after_content(self, key: ObjectKey) -> None:
        content = self._contents.view().get(key)
        if content is None:
            self._pauses.end(key)
        if content is None or not await self.record(key, decide_protection(content)):
            return
        content = self._contents.view().get(key) or content
        driver = self.drivers.find(content.spec.driver)
        if driver is None or "CREATE_DELETE_SNAPSHOT" not in driver.controller:
            return
        step = decide_content(content, self._content_context(content))
        if step.call is None and step.plan.reason == SnapshotContentReason.FAILED:
            await self.failed(key, step.plan)
        elif step.call is None:
            await self.succeeded(key, step.plan)
        elif (left := self._pauses.left(key, _essence(content))) > NO_TIME:
            self.queue.add_after(key, left)
        elif await self.record(key, step.plan):
            # With what has just been written about it.
            content = self._contents.view().get(key) or content
            await self._carry_out(content, driver, step.call)

    def _content_context(self, content: VolumeSnapshotContent) -> ContentContext:
        name = content.spec.volume_snapshot_class_name or ""
        return ContentContext(
            now=self.tools.clock.now(),
            class_=self._classes.view().get(ObjectKey("", name)),
            tells_metadata=self.settings.tells_metadata,
        )

    async def _carry_out(
        self, content: VolumeSnapshotContent, driver: KnownDriver, call: ContentCall
    ) -> None:
        match call:
            case TakeSnapshot():
                await self._told(content, await self._calls.take(driver, call))
            case FindSnapshot():
                await self._told(content, await self._calls.find(driver, call))
            case DeleteSnapshot():
                failure = await self._calls.delete(driver, call)
                if failure is None:
                    await self._called(content, decide_deleted(content))
                else:
                    await self._call_again(content, decide_not_deleted(content, failure))
            case _:
                assert_never(call)

    async def _told(self, content: VolumeSnapshotContent, answer: Taken | Failure) -> None:
        now = self.tools.clock.now()
        match answer:
            case CallFailed() | NotAsked():
                await self._call_again(content, decide_not_taken(content, answer, now))
            case Taken(is_ready=True):
                await self._called(content, decide_taken(content, answer, now))
            case Taken():
                # It is there, and not to be used yet: the driver is asked until it is.
                self._pauses.end(content.key)
                await self.failed(content.key, decide_taken(content, answer, now))

    async def _called(self, content: VolumeSnapshotContent, plan: Plan) -> None:
        self._pauses.end(content.key)
        await self.succeeded(content.key, plan)

    async def _call_again(self, content: VolumeSnapshotContent, plan: Plan) -> None:
        """After a pause that grows; it begins before the failure is written down."""
        key = content.key
        self.queue.add_after(key, self._pauses.begin(key, _essence(content)))
        await self.record(key, plan)


def _claim_of(snapshot: VolumeSnapshot) -> list[str]:
    name = snapshot.spec.source.persistent_volume_claim_name
    return [str(ObjectKey(snapshot.namespace, name))] if name else []


def _made_of(claim: PersistentVolumeClaim) -> list[str]:
    """The snapshot that the claim's volume is provisioned from."""
    source = claim.spec.data_source_ref or claim.spec.data_source
    if source is None or (source.api_group, source.kind) != (GROUP, "VolumeSnapshot"):
        return []
    return [str(ObjectKey(source.namespace or claim.namespace, source.name))]


def _essence(content: VolumeSnapshotContent) -> tuple[object, ...]:
    status = content.status or ContentStatus()
    annotations = {k: v for k, v in content.annotations.items() if k != BEING_CREATED}
    return (
        content.uid,
        content.spec,
        content.metadata.deletion_timestamp,
        content.metadata.finalizers,
        annotations,
        msgspec.structs.replace(status, error=None, ready_to_use=status.ready_to_use is True),
    )
