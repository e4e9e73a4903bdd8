"""Claims and volumes, and the places where the data of a volume can live.

Sources that Kubernetes once served itself and now hands to CSI drivers are here in full, so that
they can be translated; of the others only what decisions look at.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from plimsoll.api.meta import ApiObject, ApiStruct, Condition, ObjectKey, ObjectReference
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.selectors.node import NodeSelectorSpec

BETA_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""Older than the field, and stronger than it."""
SINGLE_POD_MODE = "ReadWriteOncePod"
FILESYSTEM, BLOCK = "Filesystem", "Block"

Quantities = Mapping[str, str]


class Resources(ApiStruct, frozen=True, kw_only=True):
    requests: Quantities = msgspec.field(default_factory=dict)
    limits: Quantities = msgspec.field(default_factory=dict)


class SecretReference(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""


class AwsElasticBlockStore(ApiStruct, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class GcePersistentDisk(ApiStruct, frozen=True, kw_only=True):
    pd_name: str = ""
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class AzureDisk(ApiStruct, frozen=True, kw_only=True):
    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    caching_mode: str | None = None
    fs_type: str | None = None
    read_only: bool | None = None
    kind: str | None = None


class AzureFile(ApiStruct, frozen=True, kw_only=True):
    secret_name: str = ""
    secret_namespace: str | None = None
    share_name: str = ""
    read_only: bool = False


class Cinder(ApiStruct, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class VsphereVolume(ApiStruct, frozen=True, kw_only=True):
    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = msgspec.field(default="", name="storagePolicyID")


class PortworxVolume(ApiStruct, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class Rbd(ApiStruct, frozen=True, kw_only=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class Iscsi(ApiStruct, frozen=True, kw_only=True):
    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class Nfs(ApiStruct, frozen=True, kw_only=True):
    server: str = ""
    path: str = ""
    read_only: bool = False


class PathOnNode(ApiStruct, frozen=True, kw_only=True):
    """A hostPath or local volume."""

    path: str = ""


class InTreeSources(ApiStruct, frozen=True, kw_only=True):
    """Sources that a pod's volume and a PersistentVolume can have alike; at most one is set."""

    aws_elastic_block_store: AwsElasticBlockStore | None = None
    gce_persistent_disk: GcePersistentDisk | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    rbd: Rbd | None = None
    iscsi: Iscsi | None = None
    nfs: Nfs | None = None
    host_path: PathOnNode | None = None


class CsiSource(ApiStruct, frozen=True, kw_only=True):
    driver: str = ""
    volume_handle: str = ""
    fs_type: str = ""
    read_only: bool = False
    volume_attributes: Mapping[str, str] = msgspec.field(default_factory=dict)
    controller_publish_secret_ref: SecretReference | None = None
    controller_expand_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    node_expand_secret_ref: SecretReference | None = None


class VolumeNodeAffinity(ApiStruct, frozen=True, kw_only=True):
    required: NodeSelectorSpec | None = None


class VolumeSpec(InTreeSources, frozen=True, kw_only=True):
    capacity: Quantities = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: tuple[str, ...] = ()
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CsiSource | None = None
    local: PathOnNode | None = None

    @property
    def capacity_bytes(self) -> int:
        return parse_bytes(self.capacity.get("storage", "0"))

    @property
    def claim(self) -> ObjectKey | None:
        """The claim that the volume is kept for."""
        return self.claim_ref.key if self.claim_ref else None

    @property
    def claim_uid(self) -> str:
        """Of the claim that the volume is bound to; empty: it is kept by name alone, or free."""
        return self.claim_ref.uid if self.claim_ref else ""

    @property
    def required_nodes(self) -> NodeSelectorSpec | None:
        """From where the volume can be reached; None: from everywhere."""
        return self.node_affinity.required if self.node_affinity else None


class VolumeStatus(ApiStruct, frozen=True, kw_only=True):
    phase: str = ""
    message: str = ""
    reason: str = ""
    last_phase_transition_time: datetime | None = None


class PersistentVolume(ApiObject, frozen=True, kw_only=True):
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def storage_class(self) -> str:
        """Empty: a volume without a class, for claims that ask for none."""
        return self.metadata.annotations.get(BETA_CLASS_ANNOTATION, self.spec.storage_class_name)


class DataSource(ApiStruct, frozen=True, kw_only=True):
    api_group: str | None = None
    kind: str = ""
    name: str = ""
    namespace: str | None = None


class ClaimSpec(ApiStruct, frozen=True, kw_only=True):
    """All fields that a claim can have: new claims are made of it."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelectorSpec | None = None
    resources: Resources = Resources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: DataSource | None = None
    data_source_ref: DataSource | None = None
    volume_attributes_class_name: str | None = None

    @property
    def requested_bytes(self) -> int:
        return parse_bytes(self.resources.requests.get("storage", "0"))


class ModifyVolumeStatus(ApiStruct, frozen=True, kw_only=True):
    target_volume_attributes_class_name: str = ""
    status: str = ""


class ClaimStatus(ApiStruct, frozen=True, kw_only=True):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Quantities = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    allocated_resources: Quantities = msgspec.field(default_factory=dict)
    allocated_resource_statuses: Mapping[str, str] = msgspec.field(default_factory=dict)
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None

    @property
    def capacity_bytes(self) -> int:
        return parse_bytes(self.capacity.get("storage", "0"))


class PersistentVolumeClaim(ApiObject, frozen=True, kw_only=True):
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def storage_class(self) -> str:
        """Empty: the claim asks for a volume without a class, or for the default one."""
        annotated = self.metadata.annotations.get(BETA_CLASS_ANNOTATION)
        return annotated if annotated is not None else self.spec.storage_class_name or ""

    @property
    def asks_for_default_class(self) -> bool:
        return (
            self.spec.storage_class_name is None and BETA_CLASS_ANNOTATION not in self.annotations
        )
