"""Objects that own pods.

Templates stay documents: what is created from one must have every field that the template has,
not only those that our structs know.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from plimsoll.api.meta import ApiObject, ApiStruct, Condition
from plimsoll.api.selectors.label import LabelSelectorSpec

Template = Mapping[str, Any]


class RollingUpdate(ApiStruct, frozen=True, kw_only=True):
    partition: int | None = None
    max_unavailable: int | str | None = None
    max_surge: int | str | None = None


class UpdateStrategy(ApiStruct, frozen=True, kw_only=True):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class RetentionPolicy(ApiStruct, frozen=True, kw_only=True):
    """What becomes of claims: Retain or Delete."""

    when_deleted: str = ""
    when_scaled: str = ""


class Ordinals(ApiStruct, frozen=True, kw_only=True):
    start: int = 0


class StatefulSetSpec(ApiStruct, frozen=True, kw_only=True):
    replicas: int | None = None
    selector: LabelSelectorSpec | None = None
    service_name: str = ""
    template: Template = msgspec.field(default_factory=dict)
    volume_claim_templates: tuple[Template, ...] = ()
    pod_management_policy: str = ""
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int | None = None
    min_ready_seconds: int = 0
    persistent_volume_claim_retention_policy: RetentionPolicy | None = None
    ordinals: Ordinals | None = None


class StatefulSetStatus(ApiStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None
    conditions: tuple[Condition, ...] = ()


class StatefulSet(ApiObject, frozen=True, kw_only=True):
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class ReplicaSpec(ApiStruct, frozen=True, kw_only=True):
    """Of a ReplicaSet or a Deployment."""

    replicas: int | None = None
    selector: LabelSelectorSpec | None = None
    template: Template = msgspec.field(default_factory=dict)
    min_ready_seconds: int = 0
    strategy: UpdateStrategy = UpdateStrategy()
    paused: bool = False
    revision_history_limit: int | None = None


class ReplicaStatus(ApiStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    updated_replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(ApiObject, frozen=True, kw_only=True):
    spec: ReplicaSpec = ReplicaSpec()
    status: ReplicaStatus = ReplicaStatus()


class Deployment(ApiObject, frozen=True, kw_only=True):
    spec: ReplicaSpec = ReplicaSpec()
    status: ReplicaStatus = ReplicaStatus()


class ReplicationControllerSpec(ApiStruct, frozen=True, kw_only=True):
    replicas: int | None = None
    selector: Mapping[str, str] = msgspec.field(default_factory=dict)


class ReplicationController(ApiObject, frozen=True, kw_only=True):
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class DaemonSetSpec(ApiStruct, frozen=True, kw_only=True):
    selector: LabelSelectorSpec | None = None
    template: Template = msgspec.field(default_factory=dict)
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0


class DaemonSetStatus(ApiStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    current_number_scheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0


class DaemonSet(ApiObject, frozen=True, kw_only=True):
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(ApiStruct, frozen=True, kw_only=True):
    parallelism: int | None = None
    completions: int | None = None
    backoff_limit: int | None = None
    suspend: bool = False
    selector: LabelSelectorSpec | None = None
    template: Template = msgspec.field(default_factory=dict)


class JobStatus(ApiStruct, frozen=True, kw_only=True):
    active: int = 0
    ready: int | None = None
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()


class Job(ApiObject, frozen=True, kw_only=True):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class ControllerRevision(ApiObject, frozen=True, kw_only=True):
    data: Template = msgspec.field(default_factory=dict)
    revision: int = 0
