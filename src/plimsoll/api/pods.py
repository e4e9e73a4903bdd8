"""Pods: everything that scheduling and storage read of them."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from plimsoll.api.core import Taint
from plimsoll.api.meta import (
    ApiObject,
    ApiStruct,
    Condition,
    ObjectKey,
    ObjectMeta,
    find_condition,
)
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.selectors.node import NodeSelectorSpec, PreferredTermSpec
from plimsoll.api.volumes import ClaimSpec, CsiSource, InTreeSources, Quantities, Resources

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity(ApiStruct, frozen=True, kw_only=True):
    required: NodeSelectorSpec | None = msgspec.field(default=None, name=REQUIRED)
    preferred: tuple[PreferredTermSpec, ...] = msgspec.field(default=(), name=PREFERRED)


class PodAffinityTerm(ApiStruct, frozen=True, kw_only=True):
    """Without a label selector it matches no pod."""

    topology_key: str = ""
    label_selector: LabelSelectorSpec | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelectorSpec | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(ApiStruct, frozen=True, kw_only=True):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiStruct, frozen=True, kw_only=True):
    """Towards other pods, or away from them."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(default=(), name=REQUIRED)
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(default=(), name=PREFERRED)


class Affinity(ApiStruct, frozen=True, kw_only=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(ApiStruct, frozen=True, kw_only=True):
    """An empty key or effect stands for all of them."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


class TopologySpreadConstraint(ApiStruct, frozen=True, kw_only=True):
    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelectorSpec | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class ContainerPort(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class ContainerClaim(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    request: str = ""


class ContainerResources(Resources, frozen=True, kw_only=True):
    claims: tuple[ContainerClaim, ...] = ()


class VolumeUse(ApiStruct, frozen=True, kw_only=True):
    """A volume in a container, mounted or as a device."""

    name: str = ""


class ContainerRestartRule(ApiStruct, frozen=True, kw_only=True):
    """What is restarted after certain ends of a container."""

    action: str = ""


class Container(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""
    resources: ContainerResources = ContainerResources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeUse, ...] = ()
    volume_devices: tuple[VolumeUse, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """An init container that keeps running beside those that follow it."""
        return self.restart_policy == "Always"


class ClaimVolume(ApiStruct, frozen=True, kw_only=True):
    claim_name: str = ""
    read_only: bool = False


class ClaimTemplate(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimSpec = ClaimSpec()


class EphemeralVolume(ApiStruct, frozen=True, kw_only=True):
    volume_claim_template: ClaimTemplate | None = None


class ImageVolume(ApiStruct, frozen=True, kw_only=True):
    reference: str = ""


class NodeSource(ApiStruct, frozen=True, kw_only=True):
    """A volume that the node makes by itself; that there is one is all that is read."""


class PodVolume(InTreeSources, frozen=True, kw_only=True):
    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    csi: CsiSource | None = None
    image: ImageVolume | None = None
    empty_dir: NodeSource | None = None
    config_map: NodeSource | None = None
    secret: NodeSource | None = None
    projected: NodeSource | None = None
    downward_api: NodeSource | None = msgspec.field(default=None, name="downwardAPI")


class SchedulingGate(ApiStruct, frozen=True, kw_only=True):
    name: str = ""


class PodResourceClaim(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSecurityContext(ApiStruct, frozen=True, kw_only=True):
    fs_group: int | None = None
    fs_group_change_policy: str | None = None


class PodSpec(ApiStruct, frozen=True, kw_only=True):
    node_name: str = ""
    scheduler_name: str = ""
    restart_policy: str = ""
    """Always, OnFailure or Never; empty: Always."""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources | None = None
    overhead: Quantities = msgspec.field(default_factory=dict)
    volumes: tuple[PodVolume, ...] = ()
    node_selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    host_network: bool = False
    host_users: bool | None = None
    """False: the users of its containers are not those of the node."""
    resource_claims: tuple[PodResourceClaim, ...] = ()
    termination_grace_period_seconds: int | None = None
    service_account_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    security_context: PodSecurityContext | None = None

    @property
    def required_nodes(self) -> NodeSelectorSpec | None:
        affinity = self.affinity.node_affinity if self.affinity else None
        return affinity.required if affinity else None

    @property
    def preferred_nodes(self) -> tuple[PreferredTermSpec, ...]:
        affinity = self.affinity.node_affinity if self.affinity else None
        return affinity.preferred if affinity else ()


class ContainerStatus(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    allocated_resources: Quantities = msgspec.field(default_factory=dict)
    resources: Resources | None = None


class ResourceClaimStatus(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(ApiStruct, frozen=True, kw_only=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: datetime | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[ResourceClaimStatus, ...] = ()
    resources: Resources | None = None
    allocated_resources: Quantities = msgspec.field(default_factory=dict)


class Pod(ApiObject, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def priority(self) -> int:
        return self.spec.priority or 0

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        ready = find_condition(self.status.conditions, "Ready")
        return ready is not None and ready.holds

    @property
    def ready_since(self) -> datetime | None:
        """None: it is not ready, or does not say since when."""
        ready = find_condition(self.status.conditions, "Ready")
        return ready.last_transition_time if ready is not None and ready.holds else None

    @property
    def claims(self) -> tuple[ObjectKey, ...]:
        """The claims that it uses, in the order of its volumes."""
        if not self.spec.volumes:
            return ()
        keys = map(self.claim_of, self.spec.volumes)
        return tuple([key for key in keys if key is not None])

    def claim_of(self, volume: PodVolume) -> ObjectKey | None:
        """An ephemeral volume has a claim named after the pod and the volume."""
        if volume.persistent_volume_claim:
            return ObjectKey(self.metadata.namespace, volume.persistent_volume_claim.claim_name)
        if volume.ephemeral:
            return ObjectKey(self.namespace, f"{self.name}-{volume.name}")
        return None
