"""Objects that own pods.

Templates stay documents: what is created from one must have every field that the template has,
not only those that our structs know.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from plimsoll.api.meta import ApiObject, ApiStruct, Condition, ObjectReference
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
    progress_deadline_seconds: int | None = None


class RolloutCondition(Condition, frozen=True, kw_only=True):
    """That of a Deployment also says when it was last looked at and found to be so."""

    last_update_time: datetime | None = None


class ReplicaStatus(ApiStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    updated_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[RolloutCondition, ...] = ()


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
    revision_history_limit: int | None = None


class DaemonSetStatus(ApiStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    updated_number_scheduled: int = 0
    collision_count: int | None = None


class DaemonSet(ApiObject, frozen=True, kw_only=True):
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(ApiStruct, frozen=True, kw_only=True):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = None
    selector: LabelSelectorSpec | None = None
    template: Template = msgspec.field(default_factory=dict)
    pod_failure_policy: Template | None = None
    success_policy: Template | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class UncountedPods(ApiStruct, frozen=True, kw_only=True):
    """Uids of finished pods that the counters do not hold yet."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(ApiStruct, frozen=True, kw_only=True):
    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    uncounted_terminated_pods: UncountedPods | None = None
    start_time: datetime | None = None
    completion_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()


class Job(ApiObject, frozen=True, kw_only=True):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class CronJobSpec(ApiStruct, frozen=True, kw_only=True):
    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = ""
    suspend: bool | None = None
    job_template: Template = msgspec.field(default_factory=dict)
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class CronJobStatus(ApiStruct, frozen=True, kw_only=True):
    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(ApiObject, frozen=True, kw_only=True):
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class ControllerRevision(ApiObject, frozen=True, kw_only=True):
    data: Template = msgspec.field(default_factory=dict)
    revision: int = 0
