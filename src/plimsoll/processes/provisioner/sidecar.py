"""What the loops of a provisioner share: the driver, what is known of it, and reading secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from plimsoll.api.core import Secret
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim, SecretReference
from plimsoll.decide.capacity.tokens import CapacityToken
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    Code,
    CreatedVolume,
    CreateOutcome,
    CreateVolumeCall,
    Deleted,
    DeleteOutcome,
    DeleteVolumeCall,
)
from plimsoll.decide.provisioning.intents import Intent, anywhere, is_elsewhere, left_alone
from plimsoll.decide.provisioning.recorded import OtherLeaders, find_doubt
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.steps import CleanUp, Ignore
from plimsoll.decide.provisioning.view import ProvisionerView, ProvisioningContext
from plimsoll.processes.provisioner import messages
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.processes.provisioner.operation_metrics import ProvisionerOperationMetrics
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.binding import ClaimBinding, binding_metadata
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2 as pools
from plimsoll.wire.csi.transport import NO_METADATA, Metadata
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

CLAIMS, SECRETS = typed(PersistentVolumeClaim), typed(Secret)


class CapacityWatcher(Protocol):
    """Is told when the free capacity may have changed."""

    def token_for_volume(self) -> CapacityToken | None:
        """To be written on a volume that is about to be recorded; None: none is needed."""
        ...

    def provisioned(self, volume: PersistentVolume) -> None: ...

    def deleted(self, volume: PersistentVolume) -> None: ...

    def refused(self, storage_class: str) -> None: ...

    def undone(self, storage_class: str) -> None:
        """A volume of the class that was never recorded is gone, or was never there."""
        ...


class NoCapacityWatcher:
    """Implements CapacityWatcher, for provisioners that publish no capacity."""

    def token_for_volume(self) -> CapacityToken | None:
        return None

    def provisioned(self, volume: PersistentVolume) -> None:
        del volume

    def deleted(self, volume: PersistentVolume) -> None:
        del volume

    def refused(self, storage_class: str) -> None:
        del storage_class

    def undone(self, storage_class: str) -> None:
        del storage_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much a loop does at once, and how soon it tries again."""

    workers: int
    retries: Backoff


class SecretUnreadableError(Exception):
    """Says why; what is in a secret is never said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    link: DriverLink
    decisions: ProvisionerSettings
    client: KubeClient
    clock: Clock
    metrics: ProvisionerOperationMetrics
    capacity: CapacityWatcher

    def context(
        self, view: ProvisionerView, *, is_call_stored: bool = False
    ) -> ProvisioningContext:
        return ProvisioningContext(
            view=view, settings=self.decisions, now=self.now(), is_call_stored=is_call_stored
        )

    def now(self) -> datetime:
        return self.clock.now()

    async def read_secret(self, reference: SecretReference | None) -> Mapping[str, str]:
        """For the moment of one call. Raises SecretUnreadableError."""
        if reference is None:
            return {}
        key = ObjectKey(reference.namespace, reference.name)
        try:
            secret = await self.client.get(SECRETS, key)
        except KubeError as error:
            raise SecretUnreadableError(str(error.failure)) from error
        try:
            return {name: value.decode() for name, value in secret.data.items()}
        except UnicodeDecodeError:
            raise SecretUnreadableError("a value is not text, which CSI demands") from None

    async def create(
        self, call: CreateVolumeCall, secrets: Mapping[str, str], *, selected_node: str
    ) -> CreateOutcome:
        """`selected_node` is empty for a claim that is bound immediately."""
        return await self._create(messages.create_volume(call, secrets), selected_node)

    async def repeat(
        self, recorded: Document, secrets: Mapping[str, str], *, selected_node: str
    ) -> CreateOutcome:
        """The same call again, as an intent has it."""
        return await self._create(messages.recorded_request(recorded, secrets), selected_node)

    async def ask_again(self, intent: Intent, secrets: Mapping[str, str]) -> CreateOutcome:
        """What there is of a volume that is not wanted any more. If the driver has it elsewhere, it
        is looked for wherever it is, so that it can be deleted. A search that does not find it
        tells nothing: the first answer stays."""
        node = intent.selected_node
        outcome = await self.repeat(intent.request, secrets, selected_node=node)
        if not is_elsewhere(intent, outcome):
            return outcome
        found = await self.repeat(anywhere(intent.request), secrets, selected_node=node)
        return found if isinstance(found, CreatedVolume) else outcome

    async def _create(self, request: csi.CreateVolumeRequest, selected_node: str) -> CreateOutcome:
        metadata = self._binding_metadata(selected_node)
        try:
            answer = await self.link.call(methods.CREATE_VOLUME, request, metadata)
        except DriverError as error:
            return messages.failed(error, dict(request.secrets))
        return messages.created_volume(answer)

    def _binding_metadata(self, selected_node: str) -> Metadata:
        """csi-provisioner does not tell."""
        if self.decisions.is_compatible:
            return NO_METADATA
        return binding_metadata(ClaimBinding.DELAYED if selected_node else ClaimBinding.IMMEDIATE)

    async def delete(self, call: DeleteVolumeCall) -> DeleteOutcome:
        """If the secret cannot be read, the call is made without it."""
        secrets = await self._secrets_for(call)
        request = csi.DeleteVolumeRequest(volume_id=call.volume_id, secrets=secrets)
        try:
            await self.link.call(methods.DELETE_VOLUME, request)
        except DriverError as error:
            return messages.failed(error, secrets)
        return Deleted()

    async def undo(self, step: CleanUp, others: OtherLeaders) -> DeleteOutcome | Ignore:
        """A volume that a pod may have written to is never deleted here. Raises KubeError."""
        if self.decisions.is_compatible:
            return await self._delete_at_last(step, OtherLeaders.NONE)
        outcome = await self.delete_never_published(step.call)
        code = outcome.code if isinstance(outcome, CallFailed) else None
        if code is Code.FAILED_PRECONDITION:
            return left_alone(step, f"it was published ({outcome})")
        if code is not Code.UNIMPLEMENTED:
            return outcome
        return await self._delete_at_last(step, others)

    async def _delete_at_last(self, step: CleanUp, others: OtherLeaders) -> DeleteOutcome | Ignore:
        """The doubt is looked for right before each call: the last one may have taken long."""
        outcome: DeleteOutcome = Deleted()
        for _ in range(step.tries):
            if doubt := await self._find_doubt(step, others):
                return left_alone(step, doubt)
            outcome = await self.delete(step.call)
            if isinstance(outcome, Deleted):
                break
        return outcome

    async def _find_doubt(self, step: CleanUp, others: OtherLeaders) -> str:
        """Why another program may have recorded the volume, and a pod may have used it."""
        match others:
            case OtherLeaders.NONE:
                return ""
            case OtherLeaders.BETWEEN:
                return "another program may have led since it was made"
            case OtherLeaders.BESIDE:
                claim = await self.client.find(CLAIMS, step.claim.key)
                return find_doubt(step.claim, step.volume_name, claim)

    async def delete_never_published(self, call: DeleteVolumeCall) -> DeleteOutcome:
        """Only if no pod can have written to it; drivers of others do not know this call."""
        secrets = await self._secrets_for(call)
        request = pools.DeleteNeverPublishedRequest(volume_id=call.volume_id, secrets=secrets)
        try:
            await self.link.call(methods.DELETE_NEVER_PUBLISHED, request)
        except DriverError as error:
            return messages.failed(error, secrets)
        return Deleted()

    async def _secrets_for(self, call: DeleteVolumeCall) -> Mapping[str, str]:
        try:
            return await self.read_secret(call.secret)
        except SecretUnreadableError:
            return {}
