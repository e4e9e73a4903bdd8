"""What the loops of a provisioner share: the driver, what is known of it, and reading secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from plimsoll.api.core import Secret
from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, SecretReference
from plimsoll.decide.provisioning.calls import (
    CreateOutcome,
    CreateVolumeCall,
    Deleted,
    DeleteOutcome,
    DeleteVolumeCall,
)
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.view import ProvisionerView, ProvisioningContext
from plimsoll.processes.provisioner import messages
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.processes.provisioner.operation_metrics import ProvisionerOperationMetrics
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

SECRETS = typed(Secret)


class CapacityWatcher(Protocol):
    """Is told when the free capacity may have changed."""

    def provisioned(self, volume: PersistentVolume) -> None: ...

    def deleted(self, volume: PersistentVolume) -> None: ...

    def refused(self, storage_class: str) -> None: ...


class NoCapacityWatcher:
    """Implements CapacityWatcher, for provisioners that publish no capacity."""

    def provisioned(self, volume: PersistentVolume) -> None:
        del volume

    def deleted(self, volume: PersistentVolume) -> None:
        del volume

    def refused(self, storage_class: str) -> None:
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

    def context(self, view: ProvisionerView) -> ProvisioningContext:
        return ProvisioningContext(view=view, settings=self.decisions, now=self.now())

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

    async def create(self, call: CreateVolumeCall, secrets: Mapping[str, str]) -> CreateOutcome:
        try:
            answer = await self.link.call(
                methods.CREATE_VOLUME, messages.create_volume(call, secrets)
            )
        except DriverError as error:
            return messages.failed(error, secrets)
        return messages.created_volume(answer)

    async def delete(self, call: DeleteVolumeCall) -> DeleteOutcome:
        """If the secret cannot be read, the call is made without it."""
        try:
            secrets = await self.read_secret(call.secret)
        except SecretUnreadableError:
            secrets = {}
        request = csi.DeleteVolumeRequest(volume_id=call.volume_id, secrets=secrets)
        try:
            await self.link.call(methods.DELETE_VOLUME, request)
        except DriverError as error:
            return messages.failed(error, secrets)
        return Deleted()
