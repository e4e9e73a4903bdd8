"""Nodes, namespaces, configuration, quotas, events and leases."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from plimsoll.api.meta import ApiObject, ApiStruct, Condition, ObjectReference, find_condition
from plimsoll.api.volumes import Quantities


class Taint(ApiStruct, frozen=True, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class NodeSpec(ApiStruct, frozen=True, kw_only=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(default="", name="providerID")


class ContainerImage(ApiStruct, frozen=True, kw_only=True):
    names: tuple[str, ...] | None = None
    size_bytes: int = 0


class AttachedVolume(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    device_path: str = ""


class NodeStatus(ApiStruct, frozen=True, kw_only=True):
    capacity: Quantities = msgspec.field(default_factory=dict)
    allocatable: Quantities = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(ApiObject, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        ready = find_condition(self.status.conditions, "Ready")
        return ready is not None and ready.holds


class NamespaceStatus(ApiStruct, frozen=True, kw_only=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(ApiObject, frozen=True, kw_only=True):
    status: NamespaceStatus = NamespaceStatus()


class ServiceAccount(ApiObject, frozen=True, kw_only=True):
    pass


class ConfigMap(ApiObject, frozen=True, kw_only=True):
    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    binary_data: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    immutable: bool | None = None


class Secret(ApiObject, frozen=True, kw_only=True):
    type: str = ""
    data: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    immutable: bool | None = None

    def __repr__(self) -> str:
        """Without the data: a secret that is logged by accident stays one."""
        return f"Secret({str(self.key)!r}, keys={sorted(self.data)})"


class ServicePort(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    protocol: str = "TCP"
    port: int = 0
    target_port: int | str = 0
    """The number of a container's port, or its name; 0 stands for `port`."""
    app_protocol: str | None = None


class ServiceSpec(ApiStruct, frozen=True, kw_only=True):
    type: str = ""
    selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool = False


class Service(ApiObject, frozen=True, kw_only=True):
    spec: ServiceSpec = ServiceSpec()

    @property
    def is_headless(self) -> bool:
        """Clients find the pods themselves, by their addresses."""
        return self.spec.cluster_ip == "None"


class LimitRangeItem(ApiStruct, frozen=True, kw_only=True):
    type: str = ""
    min: Quantities = msgspec.field(default_factory=dict)
    max: Quantities = msgspec.field(default_factory=dict)
    default: Quantities = msgspec.field(default_factory=dict)
    default_request: Quantities = msgspec.field(default_factory=dict)
    max_limit_request_ratio: Quantities = msgspec.field(default_factory=dict)


class LimitRangeSpec(ApiStruct, frozen=True, kw_only=True):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(ApiObject, frozen=True, kw_only=True):
    spec: LimitRangeSpec = LimitRangeSpec()


class ScopeRequirement(ApiStruct, frozen=True, kw_only=True):
    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(ApiStruct, frozen=True, kw_only=True):
    match_expressions: tuple[ScopeRequirement, ...] = ()


class ResourceQuotaSpec(ApiStruct, frozen=True, kw_only=True):
    hard: Quantities = msgspec.field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(ApiStruct, frozen=True, kw_only=True):
    hard: Quantities = msgspec.field(default_factory=dict)
    used: Quantities = msgspec.field(default_factory=dict)


class ResourceQuota(ApiObject, frozen=True, kw_only=True):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class EventSource(ApiStruct, frozen=True, kw_only=True):
    component: str = ""
    host: str = ""


class EventSeries(ApiStruct, frozen=True, kw_only=True):
    count: int = 0
    last_observed_time: datetime | None = None


class Event(ApiObject, frozen=True, kw_only=True):
    """The event of the core group."""

    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    type: str = ""
    action: str = ""
    count: int = 0
    source: EventSource = EventSource()
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: EventSeries | None = None
    related: ObjectReference | None = None
    reporting_component: str = ""
    reporting_instance: str = ""


class ReportedEvent(ApiObject, frozen=True, kw_only=True):
    """The event of the group events.k8s.io: the same object under other names."""

    regarding: ObjectReference = ObjectReference()
    reason: str = ""
    note: str = ""
    type: str = ""
    action: str = ""
    event_time: datetime | None = None
    series: EventSeries | None = None
    related: ObjectReference | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    deprecated_source: EventSource = EventSource()
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_count: int = 0


class LeaseSpec(ApiStruct, frozen=True, kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(ApiObject, frozen=True, kw_only=True):
    spec: LeaseSpec = LeaseSpec()
