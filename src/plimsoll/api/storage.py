"""Classes, drivers, their capacity, and attachments."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from plimsoll.api.meta import ApiObject, ApiStruct
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.selectors.topology import TopologyTermSpec
from plimsoll.api.volumes import VolumeSpec

DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
IMMEDIATE = "Immediate"


class StorageClass(ApiObject, frozen=True, kw_only=True):
    provisioner: str = ""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    reclaim_policy: str | None = None
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTermSpec, ...] = ()

    @property
    def is_default(self) -> bool:
        return any(self.annotations.get(name) == "true" for name in DEFAULT_CLASS_ANNOTATIONS)

    @property
    def waits_for_consumer(self) -> bool:
        return self.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


class VolumeAttributesClass(ApiObject, frozen=True, kw_only=True):
    driver_name: str = ""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)


class TokenRequest(ApiStruct, frozen=True, kw_only=True):
    audience: str = ""
    expiration_seconds: int | None = None


class CSIDriverSpec(ApiStruct, frozen=True, kw_only=True):
    attach_required: bool | None = None
    pod_info_on_mount: bool | None = None
    volume_lifecycle_modes: tuple[str, ...] = ()
    storage_capacity: bool | None = None
    fs_group_policy: str | None = None
    token_requests: tuple[TokenRequest, ...] = ()
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    node_allocatable_update_period_seconds: int | None = None
    service_account_token_in_secrets: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(ApiObject, frozen=True, kw_only=True):
    spec: CSIDriverSpec = CSIDriverSpec()


class VolumeLimit(ApiStruct, frozen=True, kw_only=True):
    count: int | None = None


class CSINodeDriver(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    # A driver without topology is written with null here, always.
    topology_keys: tuple[str, ...] | None = None
    allocatable: VolumeLimit | None = None


class CSINodeSpec(ApiStruct, frozen=True, kw_only=True):
    # Written as null by a node without drivers.
    drivers: tuple[CSINodeDriver, ...] | None = None


class CSINode(ApiObject, frozen=True, kw_only=True):
    spec: CSINodeSpec = CSINodeSpec()

    def find_driver(self, name: str) -> CSINodeDriver | None:
        return next((driver for driver in self.spec.drivers or () if driver.name == name), None)


class CSIStorageCapacity(ApiObject, frozen=True, kw_only=True):
    storage_class_name: str = ""
    node_topology: LabelSelectorSpec | None = None
    capacity: str | None = None
    maximum_volume_size: str | None = None

    @property
    def capacity_bytes(self) -> int | None:
        return None if self.capacity is None else parse_bytes(self.capacity)

    @property
    def maximum_volume_bytes(self) -> int | None:
        return None if self.maximum_volume_size is None else parse_bytes(self.maximum_volume_size)


class AttachmentSource(ApiStruct, frozen=True, kw_only=True):
    persistent_volume_name: str | None = None
    inline_volume_spec: VolumeSpec | None = None


class AttachmentSpec(ApiStruct, frozen=True, kw_only=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeError(ApiStruct, frozen=True, kw_only=True):
    time: datetime | None = None
    message: str = ""
    error_code: int | None = None


class AttachmentStatus(ApiStruct, frozen=True, kw_only=True):
    attached: bool = False
    attachment_metadata: Mapping[str, str] = msgspec.field(default_factory=dict)
    attach_error: VolumeError | None = None
    detach_error: VolumeError | None = None


class VolumeAttachment(ApiObject, frozen=True, kw_only=True):
    spec: AttachmentSpec = AttachmentSpec()
    status: AttachmentStatus = AttachmentStatus()

    @property
    def volume_names(self) -> tuple[str, ...]:
        """The PersistentVolume that it names; nothing for a volume inline in a pod."""
        name = self.spec.source.persistent_volume_name
        return (name,) if name else ()
