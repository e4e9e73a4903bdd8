"""The loops that take our finalizers off sources when no volume is provisioned from them."""

import logging
from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import VolumeSnapshot
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.provisioning.protection import decide_cloned_claim, decide_sweep
from plimsoll.decide.provisioning.request.sources import CLONE_PROTECTION
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

SNAPSHOTS = typed(VolumeSnapshot)
BY_NAMESPACE = "by namespace"
PROTECTED = "protected clones' sources"


def _if_protected(claim: PersistentVolumeClaim) -> tuple[str, ...]:
    held = claim.is_being_deleted and CLONE_PROTECTION in claim.metadata.finalizers
    return (claim.namespace,) if held else ()


class ClonedClaims(Loop):
    """Claims that are to be deleted go when no clone of them is pending."""

    name = "cloned-claims"

    def __init__(self, tools: Tools, *, workers: int) -> None:
        super().__init__(tools)
        self.workers = workers
        self._claims = tools.observed.of(PersistentVolumeClaim)
        self._claims.index(BY_NAMESPACE, lambda claim: (claim.namespace,))
        self._claims.index(PROTECTED, _if_protected)
        self._claims.on_change(self._changed)

    def _changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        self.queue.add(change.key)
        if self._claims.informer is None or not self._claims.informer.has_synced:
            return
        # The clone that held its source may be this one.
        for key in self._claims.view().by(PROTECTED, change.key.namespace):
            self.queue.add(key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        view = self._claims.view()
        claim = view.get(key)
        if claim is not None and claim.is_being_deleted:
            neighbours = view.by(BY_NAMESPACE, key.namespace).values()
            await self.enact(key, decide_cloned_claim(claim, neighbours))
        return None


class SnapshotSweep(Loop):
    """Snapshots lose a finalizer that a claim, or a process, left behind."""

    name = "snapshot-sweep"

    def __init__(self, tools: Tools, *, every: timedelta) -> None:
        super().__init__(tools)
        self._every = every
        self._claims = tools.observed.of(PersistentVolumeClaim)

    async def run(self) -> None:
        while True:
            await self.tools.clock.sleep(self._every)
            await self.reconcile(ObjectKey("", "all"))

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        del key
        try:
            snapshots = (await self.tools.client.list(SNAPSHOTS)).items
        except KubeError as error:
            log.debug("snapshots not listed", extra={"error": str(error)})
            return None
        claims = self._claims.view().objects.values()
        await self.tools.enactor.enact(decide_sweep(snapshots, claims))
        return None
