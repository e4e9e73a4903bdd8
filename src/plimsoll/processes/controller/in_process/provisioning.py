"""Provisions volumes for claims, by a provisioner inside this process, and deletes unwanted assets.

The order of effects makes sure that nothing is forgotten: the claim is guarded by a finalizer, the
asset is created, the volume is stored, the guard goes (see `unrecorded_assets`).
"""

import logging
from dataclasses import replace
from datetime import timedelta

from plimsoll.api.quantity import Format, Quantity
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.operations import Failed, Provision, Provisioned, Refused
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.in_process.provision import (
    after_failed_cleanup,
    after_provision,
    after_saved,
    after_unsaved,
)
from plimsoll.decide.provisioning.in_process.unrecorded_assets import (
    DeleteUnrecorded,
    UnrecordedAssetReason,
    after_failed_deletion,
    guard,
    is_guarded,
    lift_guard,
)
from plimsoll.enact.enactor import Done, Overtaken
from plimsoll.processes.controller.in_process.operations import OperationVerdict
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    MadeVolume,
    Provisioner,
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)
from plimsoll.processes.controller.in_process.volume_operation import CLAIMS, OperationContext

log = logging.getLogger(__name__)

SAVE_ATTEMPTS = 5
SAVE_PAUSE = timedelta(seconds=10)
CERTAIN = frozenset({Trouble.REFUSED, Trouble.WRONG_NODE})
"""Nothing was created, so there is nothing to guard."""


class Provisioning:
    def __init__(self, context: OperationContext) -> None:
        self._context = context

    async def provision(self, operation: Provision) -> OperationVerdict:
        provisioner = self._context.registry.get(operation.provisioner)
        claim = self._still_wanted(operation.claim)
        if provisioner is None or claim is None:
            return OperationVerdict.DONE
        if await self._context.find_volume(operation.volume_name) is not None:
            return OperationVerdict.DONE
        guarded = await self._guarded(claim)
        if guarded is None:
            return OperationVerdict.TRY_AGAIN
        operation = replace(operation, claim=guarded)
        try:
            volume = await self._made(provisioner, operation)
        except ProvisionerError as error:
            await self._tell(operation, error)
            return OperationVerdict.TRY_AGAIN
        if problem := await self._save(operation, volume):
            await self._clean_up(provisioner, operation, problem)
            return OperationVerdict.TRY_AGAIN
        return OperationVerdict.DONE

    async def delete_unrecorded(self, operation: DeleteUnrecorded) -> OperationVerdict:
        provisioner = self._context.registry.get(operation.provisioner)
        if await self._context.find_volume(operation.volume_name) is not None:
            return OperationVerdict.DONE  # it was stored after all; seeing it lifts the guard
        if provisioner is None:
            problem = "no such provisioner is part of this controller"
            await self._context.enact(after_failed_deletion(operation, problem))
            return OperationVerdict.TRY_AGAIN
        try:
            await self._delete(provisioner, operation.volume_name)
        except ProvisionerError as error:
            await self._context.enact(after_failed_deletion(operation, error.message))
            return OperationVerdict.TRY_AGAIN
        log.info("provisioning rolled back", extra={"claim": str(operation.claim.key)})
        is_written = await self._lift(operation.claim)
        return OperationVerdict.DONE if is_written else OperationVerdict.TRY_AGAIN

    def _still_wanted(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
        """As it is by now; time may have passed since it was decided about."""
        found = self._context.view().claim(claim.key)
        if found is None or found.uid != claim.uid:
            return None
        return None if found.is_being_deleted or found.spec.volume_name else found

    async def _guarded(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
        if is_guarded(claim):
            return claim
        outcome = await self._context.enact(guard(claim))
        if not isinstance(outcome, Done):
            return None
        return from_document(PersistentVolumeClaim, outcome.left[0])

    async def _made(self, provisioner: Provisioner, operation: Provision) -> Document:
        request = ProvisionRequest(
            volume_name=operation.volume_name,
            claim=operation.claim,
            storage_class=operation.storage_class,
            selected_node=operation.selected_node,
            nodes=self._context.view().all_nodes,
            secret=self._context.read_secret,
        )

        async def make() -> Document:
            return volume_document(request, await provisioner.provision(request))

        with self._context.metrics.measured(provisioner.name, "volume_provision"):
            volume = await self._context.call(provisioner.name, make)
        log.info(
            "volume made",
            extra={"volume": operation.volume_name, "claim": str(operation.claim.key)},
        )
        return volume

    async def _tell(self, operation: Provision, error: ProvisionerError) -> None:
        """Where another node could help, the scheduler is asked for one."""
        is_wrong_node = error.trouble is Trouble.WRONG_NODE
        outcome = Failed(error.message) if is_wrong_node else Refused(error.message)

        def decide(claim: PersistentVolumeClaim) -> Plan:
            plan = after_provision(replace(operation, claim=claim), outcome)
            if error.trouble not in CERTAIN:
                return plan
            return replace(
                plan, writes=plan.writes + lift_guard(claim, UnrecordedAssetReason.UNDONE).writes
            )

        await self._context.write_about(CLAIMS, operation.claim, decide)

    async def _save(self, operation: Provision, volume: Document) -> str:
        """Store the volume; why it could not be, in the end, or nothing."""
        plan = after_provision(operation, Provisioned(volume))
        problem = ""
        for attempt in range(SAVE_ATTEMPTS):
            if attempt:
                await self._context.tools.clock.sleep(SAVE_PAUSE)
            outcome = await self._context.enact(plan)
            if isinstance(outcome, Done):
                return ""
            if isinstance(outcome, Overtaken) and await self._is_saved(operation):
                await self._context.enact(after_saved(operation))
                return ""
            problem = outcome.error.message
            if not outcome.error.is_passing:
                break
        # An attempt may have arrived although no answer came back.
        return "" if await self._is_saved(operation) else problem

    async def _is_saved(self, operation: Provision) -> bool:
        found = await self._context.find_volume(operation.volume_name)
        if found is None or found.spec.claim_ref is None:
            return False
        return found.spec.claim_ref.uid == operation.claim.uid

    async def _clean_up(self, provisioner: Provisioner, operation: Provision, why: str) -> None:
        await self._context.enact(after_unsaved(operation, why))
        problem = ""
        for attempt in range(SAVE_ATTEMPTS):
            if attempt:
                await self._context.tools.clock.sleep(SAVE_PAUSE)
            try:
                await self._delete(provisioner, operation.volume_name)
            except ProvisionerError as error:
                problem = error.message
            else:
                await self._lift(operation.claim)
                return
        # The guard stays: it is tried again with the next attempt, or when the claim goes.
        await self._context.enact(after_failed_cleanup(operation, problem))

    async def _delete(self, provisioner: Provisioner, volume_name: str) -> None:
        request = DeleteRequest(
            volume_name=volume_name, volume=None, secret=self._context.read_secret
        )
        with self._context.metrics.measured(provisioner.name, "volume_delete"):
            await self._context.call(provisioner.name, lambda: provisioner.delete(request))

    async def _lift(self, claim: PersistentVolumeClaim) -> bool:
        return await self._context.write_about(
            CLAIMS, claim, lambda known: lift_guard(known, UnrecordedAssetReason.UNDONE)
        )


def volume_document(request: ProvisionRequest, made: MadeVolume) -> Document:
    """Raises ProvisionerError if the volume is smaller than requested."""
    size = made.capacity_bytes
    if size is not None and size < request.requested_bytes:
        raise ProvisionerError(
            Trouble.TRY_AGAIN,
            f"the volume has {size} bytes, {request.requested_bytes} were asked for",
        )
    claim, class_ = request.claim.spec, request.storage_class
    capacity = claim.resources.requests["storage"] if size is None else _text(size)
    spec: Document = {
        "capacity": {"storage": capacity},
        "accessModes": list(claim.access_modes),
        "persistentVolumeReclaimPolicy": class_.reclaim_policy or "Delete",
        "mountOptions": list(class_.mount_options),
        "volumeMode": claim.volume_mode,
        **made.source,
    }
    if made.reachable_from:
        spec["nodeAffinity"] = _affinity(made)
    metadata: Document = {"labels": dict(made.labels), "annotations": dict(made.annotations)}
    return {"metadata": metadata, "spec": {field: value for field, value in spec.items() if value}}


def _affinity(made: MadeVolume) -> Document:
    expressions = [
        {"key": label, "operator": "In", "values": list(values)}
        for label, values in made.reachable_from.items()
    ]
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}


def _text(size: int) -> str:
    return Quantity(size, format=Format.BINARY_SI).canonical
