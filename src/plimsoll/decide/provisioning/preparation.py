"""Builds the arguments of CreateVolume from a claim, in the order in which problems are told.

Nothing is created and nothing is written before all of this succeeded, but for the marks on
sources. The process reads the provisioner's secret between the two halves.
"""

from dataclasses import dataclass
from typing import NoReturn

from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.plan import Patch
from plimsoll.decide.provisioning.calls import (
    AccessibilityRequirement,
    ContentSource,
    CreateVolumeCall,
)
from plimsoll.decide.provisioning.failures import (
    Problem,
    ProvisioningFailure,
    ProvisioningState,
    RefusalError,
    refuse,
)
from plimsoll.decide.provisioning.protection import protect
from plimsoll.decide.provisioning.request import secrets
from plimsoll.decide.provisioning.request.access_modes import volume_capabilities
from plimsoll.decide.provisioning.request.names import volume_name
from plimsoll.decide.provisioning.request.parameters import (
    driver_parameters,
    file_system,
    metadata_parameters,
)
from plimsoll.decide.provisioning.request.sources import (
    Filling,
    Populator,
    ResolvedSource,
    SourceKind,
    content_source,
    find_source,
)
from plimsoll.decide.provisioning.settings import DriverCapability, ProvisionerSettings
from plimsoll.decide.provisioning.steps import Attempt, SecretReferences
from plimsoll.decide.provisioning.topology.places import places_of
from plimsoll.decide.provisioning.topology.requirement import (
    NO_TOPOLOGY,
    Located,
    NotLocated,
    TopologyMemory,
    TopologyProblem,
    TopologyRequest,
    locate,
)
from plimsoll.decide.provisioning.view import ProvisioningContext


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedVolume:
    """A claim that this provisioner shall provision for."""

    claim: PersistentVolumeClaim
    storage_class: StorageClass
    selected_node: str = ""
    is_begun: bool = False
    """Whether the driver was asked already, and may have made the volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRequest:
    attempt: Attempt
    mark: Patch | None
    topology: TopologyMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprepared:
    """`mark` was due before the problem was met."""

    failure: ProvisioningFailure
    mark: Patch | None
    topology: TopologyMemory


class Preparation:
    """The first half of one attempt. When a problem ends it, it keeps what it found out."""

    def __init__(self, wanted: WantedVolume, context: ProvisioningContext) -> None:
        self._wanted = wanted
        self._view = context.view
        self._settings = context.settings
        self._is_repeated = wanted.is_begun and context.is_call_stored
        self._mark: Patch | None = None
        self._topology = NO_TOPOLOGY

    def prepare(self, topology: TopologyMemory) -> PreparedRequest | Unprepared | Populator:
        self._topology = topology
        try:
            source = find_source(self._wanted.claim)
            if isinstance(source, Populator):
                return source
            attempt = self._attempt(source)
        except RefusalError as refusal:
            return Unprepared(failure=refusal.failure, mark=self._mark, topology=self._topology)
        return PreparedRequest(attempt=attempt, mark=self._mark, topology=self._topology)

    def _attempt(self, source: ResolvedSource | None) -> Attempt:
        claim, class_ = self._wanted.claim, self._wanted.storage_class
        check_capabilities(self._settings, _needed(claim, source, self._settings))
        if claim.spec.selector is not None:
            refuse(Problem.SELECTOR, "claim Selector is not supported")
        name = volume_name(claim.uid, self._settings)
        fs_type = file_system(class_.parameters, self._settings)
        capabilities = volume_capabilities(claim, class_, fs_type, self._settings)
        content = self._content(source)
        self._mark = protect(source, self._view)
        return Attempt(
            claim=claim,
            storage_class=class_,
            volume_name=name,
            selected_node=self._wanted.selected_node,
            fs_type=fs_type,
            capabilities=capabilities,
            content_source=content,
            accessibility=self._accessibility(),
            secret=secrets.find_secret(secrets.PROVISIONER, class_.parameters, _names(claim, name)),
        )

    def _content(self, source: ResolvedSource | None) -> ContentSource | None:
        if source is None:
            return None
        wanted = self._wanted
        filling = Filling(
            wanted.claim, wanted.storage_class, self._settings, source, is_begun=wanted.is_begun
        )
        return content_source(filling, self._view)

    def _accessibility(self) -> AccessibilityRequirement | None:
        if not self._settings.supports_topology:
            return None
        wanted = self._wanted
        request = TopologyRequest.of(
            self._settings,
            wanted.claim.name,
            wanted.storage_class.allowed_topologies,
            wanted.selected_node,
        )
        found = locate(request, places_of(self._settings, self._view), self._topology)
        self._topology = found.memory
        if isinstance(found, NotLocated) and not self._is_repeated:
            self._refuse_topology(found)
        # The stored call says where. Its node may be gone, and the volume be there.
        return found.requirement if isinstance(found, Located) else None

    def _refuse_topology(self, found: NotLocated) -> NoReturn:
        if found.problem is TopologyProblem.CSI_NODE_NOT_FOUND:
            refuse(Problem.NODE_NOT_FOUND, found.message, ProvisioningState.RESCHEDULE)
        message = f"error generating accessibility requirements: {found.message}"
        wanted = self._wanted
        # csi-provisioner tries the same node for ever, though another one may do.
        is_refusal = wanted.selected_node and wanted.storage_class.waits_for_consumer
        is_refusal = is_refusal and not self._settings.is_compatible
        refuse(
            Problem.TOPOLOGY,
            message,
            ProvisioningState.RESCHEDULE if is_refusal else ProvisioningState.NO_CHANGE,
        )


CAPABILITY_COMPLAINTS = {
    DriverCapability.CREATE_DELETE_VOLUME: "dynamic provisioning",
    DriverCapability.CREATE_DELETE_SNAPSHOT: "snapshot restore",
    DriverCapability.CLONE_VOLUME: "clone operations",
    DriverCapability.MODIFY_VOLUME: "VolumeAttributesClass",
}


def check_capabilities(
    settings: ProvisionerSettings, needed: tuple[DriverCapability, ...] = ()
) -> None:
    """Those that every provisioning and deletion needs, and the ones named."""
    if DriverCapability.CONTROLLER_SERVICE not in settings.plugin_capabilities:
        refuse(
            Problem.CAPABILITY_MISSING,
            "CSI driver does not support dynamic provisioning: "
            "plugin CONTROLLER_SERVICE capability is not reported",
        )
    for capability in (DriverCapability.CREATE_DELETE_VOLUME, *needed):
        if capability not in settings.controller_capabilities:
            refuse(
                Problem.CAPABILITY_MISSING,
                f"CSI driver does not support {CAPABILITY_COMPLAINTS[capability]}: "
                f"controller {capability} capability is not reported",
            )


def _needed(
    claim: PersistentVolumeClaim, source: ResolvedSource | None, settings: ProvisionerSettings
) -> tuple[DriverCapability, ...]:
    needed = []
    if source is not None:
        is_clone = source.kind is SourceKind.CLAIM
        needed.append(
            DriverCapability.CLONE_VOLUME if is_clone else DriverCapability.CREATE_DELETE_SNAPSHOT
        )
    if attributes_class_of(claim, settings):
        needed.append(DriverCapability.MODIFY_VOLUME)
    return tuple(needed)


def attributes_class_of(claim: PersistentVolumeClaim, settings: ProvisionerSettings) -> str:
    """The VolumeAttributesClass that the claim asks for; empty if none."""
    return (claim.spec.volume_attributes_class_name or "") if settings.attributes_classes else ""


def _names(claim: PersistentVolumeClaim, volume: str) -> secrets.Names:
    return secrets.Names(
        volume=volume,
        claim=claim.name,
        namespace=claim.namespace,
        annotations=claim.annotations,
    )


def secret_references(attempt: Attempt) -> SecretReferences:
    """Raises RefusalError; whether these secrets exist is not looked at."""
    parameters = attempt.storage_class.parameters
    names = _names(attempt.claim, attempt.volume_name)
    return SecretReferences(
        controller_publish=secrets.find_secret(secrets.CONTROLLER_PUBLISH, parameters, names),
        node_stage=secrets.find_secret(secrets.NODE_STAGE, parameters, names),
        node_publish=secrets.find_secret(secrets.NODE_PUBLISH, parameters, names),
        controller_expand=secrets.find_secret(secrets.CONTROLLER_EXPAND, parameters, names),
        node_expand=secrets.find_secret(secrets.NODE_EXPAND, parameters, names),
        controller_modify=secrets.find_secret(secrets.CONTROLLER_MODIFY, parameters, names),
    )


def create_call(attempt: Attempt, context: ProvisioningContext) -> CreateVolumeCall:
    """The second half, once the secret is read. Raises RefusalError."""
    claim, settings = attempt.claim, context.settings
    parameters = driver_parameters(attempt.storage_class.parameters)
    if settings.extra_create_metadata:
        parameters |= metadata_parameters(claim, attempt.volume_name)
    return CreateVolumeCall(
        name=attempt.volume_name,
        capacity_bytes=attempt.capacity_bytes,
        capabilities=attempt.capabilities,
        parameters=parameters,
        mutable_parameters=_mutable_parameters(claim, context),
        secret=attempt.secret,
        accessibility=attempt.accessibility,
        content_source=attempt.content_source,
    )


def _mutable_parameters(
    claim: PersistentVolumeClaim, context: ProvisioningContext
) -> dict[str, str]:
    settings = context.settings
    name = attributes_class_of(claim, settings)
    if not name:
        return {}
    class_ = context.view.attributes_class(name)
    if class_ is None:
        refuse(
            Problem.ATTRIBUTES_CLASS_NOT_FOUND,
            f'volumeattributesclasses.storage.k8s.io "{name}" not found',
            ProvisioningState.NO_CHANGE,
        )
    if class_.driver_name != settings.driver:
        refuse(
            Problem.ATTRIBUTES_CLASS_OF_OTHER_DRIVER,
            f"VAC {name} referenced in PVC is for driver {class_.driver_name} "
            f"which does not match driver name {settings.driver}",
        )
    return dict(class_.parameters)
