"""Deletes and recycles what is behind released volumes, through a provisioner inside this process.

Right before anything is destroyed the server itself is asked whether the volume is still released
and unused: the caches may be out of date.
"""

from collections.abc import Callable

from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.annotations import INTERNAL_DELETION
from plimsoll.decide.claims.operations import (
    DeleteBacking,
    DeleteOutcome,
    Failed,
    Finished,
    InUse,
    Recycle,
)
from plimsoll.decide.claims.reclaim import after_delete, after_recycle, has_ended, is_released
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.in_process.intents import asset_name_of
from plimsoll.processes.controller.in_process.calls import ProvisionerQuestion
from plimsoll.processes.controller.in_process.operations import OperationVerdict
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    Provisioner,
    ProvisionerError,
    Trouble,
)
from plimsoll.processes.controller.in_process.volume_operation import VOLUMES, OperationContext


class Reclaiming:
    def __init__(self, context: OperationContext) -> None:
        self._context = context

    async def delete(self, operation: DeleteBacking) -> OperationVerdict:
        volume = await self._released(operation.volume)
        provisioner = self._context.registry.get(operation.provisioner)
        if volume is None or provisioner is None or _is_dealt_with(volume):
            return OperationVerdict.DONE
        outcome = await self._delete(provisioner, volume)
        return await self._tell(
            volume, lambda known: after_delete(known, outcome), is_done=outcome == Finished()
        )

    async def recycle(self, operation: Recycle) -> OperationVerdict:
        volume = await self._released(operation.volume)
        provisioner = self._context.registry.get(operation.provisioner)
        if volume is None or provisioner is None or volume.is_being_deleted:
            return OperationVerdict.DONE
        outcome: Finished | Failed = Finished()
        try:
            with self._context.metrics.measured(provisioner.name, "volume_recycle"):
                await self._context.calls.ask(
                    _question(provisioner, volume, "recycling"),
                    lambda: provisioner.recycle(volume),
                )
        except ProvisionerError as error:
            outcome = Failed(error.message)
        return await self._tell(
            volume,
            lambda known: after_recycle(known, outcome, volume),
            is_done=outcome == Finished(),
        )

    async def _released(self, decided: PersistentVolume) -> PersistentVolume | None:
        """The volume as the server has it; None if it is no longer to be reclaimed."""
        volume = await self._context.find_volume(decided.name)
        if volume is None or volume.uid != decided.uid:
            return None
        reference = volume.spec.claim_ref
        claim = None if reference is None else await self._context.find_claim(reference.key)
        return volume if is_released(volume, claim) else None

    async def _delete(self, provisioner: Provisioner, volume: PersistentVolume) -> DeleteOutcome:
        if users := self._users(volume):
            return InUse(f"Volume is still used by {users}")
        class_ = self._context.view().storage_class(volume.storage_class)
        request = DeleteRequest(
            volume_name=asset_name_of(volume),
            volume=volume,
            parameters=None if class_ is None else class_.parameters,
            secret=self._context.read_secret,
        )
        try:
            with self._context.metrics.measured(provisioner.name, "volume_delete"):
                await self._context.calls.ask(
                    _question(provisioner, volume, "deletion"),
                    lambda: provisioner.delete(request),
                )
        except ProvisionerError as error:
            in_use = error.trouble is Trouble.IN_USE
            return InUse(error.message) if in_use else Failed(error.message)
        return Finished()

    def _users(self, volume: PersistentVolume) -> str:
        """Pods that still run with a claim which was deleted by force, and nodes."""
        view, claim = self._context.view(), volume.spec.claim
        pods: list[str] = []
        # Where a claim of that name exists again, it is that claim which the pods use.
        if claim is not None and view.claim(claim) is None:
            pods = [
                f"pod {pod.key}"
                for pod in view.pods_using(claim)
                if pod.spec.node_name and not has_ended(pod)
            ]
        nodes = [f"node {name}" for name in view.attached_to(volume.name)]
        return ", ".join(sorted(pods) + nodes)

    async def _tell(
        self, volume: PersistentVolume, decide: Callable[[PersistentVolume], Plan], *, is_done: bool
    ) -> OperationVerdict:
        is_written = await self._context.write_about(VOLUMES, volume, decide)
        return OperationVerdict.DONE if is_done and is_written else OperationVerdict.TRY_AGAIN


def _question(provisioner: Provisioner, volume: PersistentVolume, what: str) -> ProvisionerQuestion:
    """Of this release of this object: what was emptied once may hold the data of another claim."""
    return ProvisionerQuestion(
        provisioner=provisioner.name,
        asset=asset_name_of(volume),
        what=f"{what} of {volume.uid} after {volume.spec.claim_uid}",
    )


def _is_dealt_with(volume: PersistentVolume) -> bool:
    """Being deleted without our finalizer: the asset is gone, or was never ours to delete."""
    return volume.is_being_deleted and INTERNAL_DELETION not in volume.metadata.finalizers
