"""The loop that deletes what is behind released volumes, and keeps our finalizer on the others."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.deletion import (
    Keep,
    Removed,
    RemoveVolume,
    Retry,
    after_delete,
    decide_volume,
    release_volume,
)
from plimsoll.enact.enactor import Done
from plimsoll.processes.provisioner.sidecar import Pace, Sidecar
from plimsoll.processes.provisioner.view import ProvisionerCaches
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.workqueue import WorkQueue
from plimsoll.wire.kind import typed

VOLUMES = typed(PersistentVolume)


class Volumes(Loop):
    name = "volumes"

    def __init__(self, tools: Tools, *, sidecar: Sidecar, pace: Pace) -> None:
        super().__init__(tools)
        self.workers = pace.workers
        self.queue = WorkQueue(tools.clock, tools.chance, pace.retries)
        self._sidecar = sidecar
        self._caches = ProvisionerCaches(tools.observed, sidecar.decisions)
        self._caches.volumes.on_change(self.add_changed)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        volume = self._caches.volumes.view().get(key)
        if volume is None:
            self.queue.forget(key)
            return None
        step = self._decide(volume)
        match step:
            case Keep():
                await self.enact(key, step.plan)
            case Retry():
                await self._retry(key, volume, step)
            case RemoveVolume():
                await self._remove(key)
        return None

    async def _remove(self, key: ObjectKey) -> None:
        begun = self.tools.clock.monotonic()
        # What is destroyed is not taken from a cache: the policy may have been changed just now.
        volume = await self.tools.client.find(VOLUMES, key)
        step = self._decide(volume) if volume is not None else None
        if volume is None or not isinstance(step, RemoveVolume):
            self.queue.forget(key)
            return
        outcome = after_delete(volume, await self._sidecar.delete(step.call))
        if isinstance(outcome, Retry):
            await self._retry(key, volume, outcome)
            return
        self._sidecar.capacity.deleted(volume)
        if await self._delete_volume(key, outcome):
            took = self.tools.clock.monotonic() - begun
            self._sidecar.metrics.deleted(volume.storage_class, took)

    def _decide(self, volume: PersistentVolume) -> Keep | Retry | RemoveVolume:
        return decide_volume(volume, self._sidecar.context(self._caches.view()))

    async def _delete_volume(self, key: ObjectKey, removed: Removed) -> bool:
        """Delete the PersistentVolume, now that the driver has deleted what is behind it.

        Returns whether it is gone; if not, the next reconcile begins again with the driver.
        """
        if not isinstance(await self.enact(key, removed.plan), Done):
            return False
        left = await self.tools.client.find(VOLUMES, key)
        release: Plan = release_volume(left)
        return isinstance(await self.enact(key, release), Done)

    async def _retry(self, key: ObjectKey, volume: PersistentVolume, step: Retry) -> None:
        self._sidecar.metrics.not_deleted(volume.storage_class)
        await self.tools.enactor.enact(step.plan)
        self.queue.add_rate_limited(key)
