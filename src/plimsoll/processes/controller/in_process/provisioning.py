"""Provisions volumes for claims, by a provisioner inside this process.

The order of effects makes sure that nothing is forgotten: an intent is stored, the asset is
created, the claim is read again, the volume is stored, the intent goes (see `settling`). For a
claim that is held, the intent says that the asset is there, and the volume is stored when the
scheduler takes the hold off.
"""

import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial

from plimsoll.api.core import Node
from plimsoll.api.quantity import Format, Quantity
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.match import claim_selector
from plimsoll.decide.claims.operations import (
    Failed,
    Provision,
    Provisioned,
    RefuseClaim,
    Refused,
)
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.holds import held_back_by, hold_of
from plimsoll.decide.provisioning.in_process.intents import (
    Settle,
    SettleGivenUp,
    asset_held_back,
    asset_name,
    intent_for,
    is_same_attempt,
    is_wanted,
    is_wanted_somewhere,
    refusal_for,
    selected_node_name,
)
from plimsoll.decide.provisioning.in_process.provision import (
    after_provision,
    after_saved,
    after_unsaved,
)
from plimsoll.decide.provisioning.in_process.unrecorded_assets import (
    DeleteUnrecorded,
    UnrecordedAssetReason,
    after_failed_deletion,
    lift_guard,
)
from plimsoll.decide.provisioning.intents import Intent, IntentState, is_waiting
from plimsoll.decide.provisioning.recorded import is_of_other_provisioner
from plimsoll.enact.enactor import Done, Overtaken
from plimsoll.processes.controller.in_process.calls import ProvisionerQuestion, answered
from plimsoll.processes.controller.in_process.intents import InProcessIntents
from plimsoll.processes.controller.in_process.operations import OperationVerdict
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    MadeVolume,
    Provisioner,
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)
from plimsoll.processes.controller.in_process.settling import IntentSettling
from plimsoll.processes.controller.in_process.volume_operation import CLAIMS, OperationContext

log = logging.getLogger(__name__)

SAVE_ATTEMPTS = 5
SAVE_PAUSE = timedelta(seconds=10)
CERTAIN = frozenset({Trouble.REFUSED, Trouble.WRONG_NODE})
"""Nothing was created, so there is nothing to guard."""


class Provisioning:
    def __init__(self, context: OperationContext, intents: InProcessIntents) -> None:
        self._context = context
        self._intents = intents
        self._settling = IntentSettling(context, intents)

    async def provision(self, operation: Provision) -> OperationVerdict:
        provisioner = self._context.registry.get(operation.provisioner)
        claim = await self._still_wanted(operation.claim)
        if provisioner is None or claim is None:
            return OperationVerdict.DONE
        if await self._context.find_volume(operation.volume_name) is not None:
            return OperationVerdict.DONE
        operation = replace(operation, claim=claim)
        begun = self._intents.find_open(claim.uid)
        if begun is not None and not is_same_attempt(begun, operation):
            return await self._undo(claim.uid)
        begun = begun or await self._begun(operation)
        operation = replace(operation, asset_name=asset_name(begun))
        made, volume = None, begun.volume
        if begun.state is not IntentState.MADE:
            try:
                made, volume = await self._made(provisioner, operation)
            except ProvisionerError as error:
                return await self._tell(operation, error)
        current = await self._context.find_claim(begun.claim_key)
        if current is None or not self._is_wanted(begun, current, made):
            return await self._settling.settle(claim.uid)
        if await self._hold_back(begun, current, volume):
            return OperationVerdict.DONE
        return await self._record(operation, volume)

    async def refuse(self, operation: RefuseClaim) -> OperationVerdict:
        """Nothing is asked for: the scheduler is told why."""
        claim = await self._still_wanted(operation.claim)
        hold = None if claim is None else hold_of(claim)
        if claim is None or hold is None or hold != hold_of(operation.claim):
            return OperationVerdict.DONE
        if self._intents.find_open(claim.uid) is None:
            number = self._intents.next_number(claim.uid)
            await self._intents.begin(refusal_for(operation, hold.id, number))
        return OperationVerdict.DONE

    async def settle(self, operation: Settle) -> OperationVerdict:
        return await self._settling.settle(operation.intent.uid)

    async def settle_given_up(self, operation: SettleGivenUp) -> OperationVerdict:
        return await self._settling.settle_given_up(operation.intent.name)

    async def delete_unrecorded(self, operation: DeleteUnrecorded) -> OperationVerdict:
        """For a claim that an earlier version of the controller left its finalizer on."""
        if await self._context.find_volume(operation.volume_name) is not None:
            return OperationVerdict.DONE  # it was stored after all; seeing it lifts the guard
        try:
            await self._context.delete_asset(operation.provisioner, operation.volume_name)
        except ProvisionerError as error:
            await self._context.enact(after_failed_deletion(operation, error.message))
            return OperationVerdict.TRY_AGAIN
        log.info("provisioning rolled back", extra={"claim": str(operation.claim.key)})
        is_written = await self._context.write_about(
            CLAIMS,
            operation.claim,
            lambda known: lift_guard(known, UnrecordedAssetReason.UNDONE),
        )
        return OperationVerdict.DONE if is_written else OperationVerdict.TRY_AGAIN

    async def _still_wanted(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
        """As it is by now; time may have passed since it was decided about. Of one that is held,
        the server is asked: the scheduler may have changed its mind since the cache was filled."""
        found = self._context.view().claim(claim.key)
        if found is not None and hold_of(found) is not None:
            found = await self._context.find_claim(claim.key)
        if found is None or found.uid != claim.uid:
            return None
        if selected_node_name(found) != selected_node_name(claim):
            return None  # it is decided about anew
        if found.is_being_deleted or found.spec.volume_name:
            return None
        return None if is_waiting(found, self._intents.find(found.uid)) else found

    async def _begun(self, operation: Provision) -> Intent:
        """Durable before the provisioner is asked. Raises KubeError."""
        intent = intent_for(operation, self._intents.next_number(operation.claim.uid))
        await self._intents.begin(intent)
        return intent

    async def _made(
        self, provisioner: Provisioner, operation: Provision
    ) -> tuple[MadeVolume, Document]:
        request = ProvisionRequest(
            volume_name=operation.asset_name,
            claim=operation.claim,
            storage_class=operation.storage_class,
            selected_node=operation.selected_node,
            nodes=self._context.view().all_nodes,
            secret=self._context.read_secret,
        )

        question = ProvisionerQuestion(
            provisioner=provisioner.name, asset=operation.asset_name, what="provisioning"
        )
        with self._context.metrics.measured(provisioner.name, "volume_provision"):
            made = await self._context.calls.ask(question, lambda: provisioner.provision(request))
            described = await answered(provisioner.name, partial(_described, request, made))
        log.info(
            "volume made",
            extra={"volume": operation.volume_name, "claim": str(operation.claim.key)},
        )
        return made, described

    def _is_wanted(
        self, begun: Intent, claim: PersistentVolumeClaim, made: MadeVolume | None
    ) -> bool:
        """By the claim as the server has it now, also for a node that was selected meanwhile."""
        selected = selected_node_name(claim)
        node = self._context.view().node(selected)
        if is_wanted(begun, claim) and (node is not None or not selected):
            return True
        is_reachable = node is not None and made is not None and _is_reachable(made, node)
        return is_reachable and is_wanted_somewhere(begun, claim)

    async def _hold_back(
        self, begun: Intent, claim: PersistentVolumeClaim, volume: Document
    ) -> bool:
        """Whether the asset waits for other volumes of its pod. Raises KubeError."""
        hold = held_back_by(begun.hold, claim)
        return bool(hold) and await self._intents.hold_back(asset_held_back(begun, hold, volume))

    async def _record(self, operation: Provision, volume: Document) -> OperationVerdict:
        uid = operation.claim.uid
        if problem := await self._save(operation, volume):
            await self._context.enact(after_unsaved(operation, problem))
            await self._undo(uid)
            return OperationVerdict.TRY_AGAIN
        await self._intents.drop(uid)
        return OperationVerdict.DONE

    async def _undo(self, uid: str) -> OperationVerdict:
        """The asset is deleted, whatever becomes of the claim. Raises KubeError."""
        await self._intents.enter(uid, IntentState.UNDOING)
        return await self._settling.settle(uid)

    async def _tell(self, operation: Provision, error: ProvisionerError) -> OperationVerdict:
        """Where another node could help, the scheduler is asked for one. Of a claim that it holds
        it is told every refusal."""
        if error.trouble in CERTAIN:
            await self._intents.refused(operation.claim.uid)
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
        if error.trouble not in CERTAIN or hold_of(operation.claim) is None:
            return OperationVerdict.TRY_AGAIN
        return await self.refuse(
            RefuseClaim(
                claim=operation.claim,
                provisioner=operation.provisioner,
                volume_name=operation.volume_name,
                message=error.message,
            )
        )

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
        if found is None or is_of_other_provisioner(found.annotations, operation.provisioner):
            return False
        return found.spec.claim_uid == operation.claim.uid


def _is_reachable(made: MadeVolume, node: Node) -> bool:
    return all(node.labels.get(label) in values for label, values in made.reachable_from.items())


async def _described(request: ProvisionRequest, made: MadeVolume) -> Document:
    return volume_document(request, made)


def volume_document(request: ProvisionRequest, made: MadeVolume) -> Document:
    """Raises ProvisionerError if the volume is smaller than requested, or its labels are not what
    the claim selects."""
    size = made.capacity_bytes
    if size is not None and size < request.requested_bytes:
        raise ProvisionerError(
            Trouble.TRY_AGAIN,
            f"the volume has {size} bytes, {request.requested_bytes} were asked for",
        )
    if not claim_selector(request.claim).matches(made.labels):
        raise ProvisionerError(
            Trouble.TRY_AGAIN, "the labels of the volume do not match claim.spec.selector"
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
