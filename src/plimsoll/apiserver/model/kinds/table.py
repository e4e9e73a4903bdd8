"""The one table of kind rules: what the API server asks before it stores an object."""

from plimsoll.apiserver.model.custom.definition import rules as definition
from plimsoll.apiserver.model.kinds.access import (
    admission_configuration,
    certificate_signing_request,
    rbac,
    service_account,
)
from plimsoll.apiserver.model.kinds.cluster import (
    event,
    lease,
    namespace,
    node,
    priority_class,
    runtime_class,
)
from plimsoll.apiserver.model.kinds.config import config_map, secret
from plimsoll.apiserver.model.kinds.networking import endpoints, service
from plimsoll.apiserver.model.kinds.plain_kinds import RULES_BY_KIND
from plimsoll.apiserver.model.kinds.pods import rules as pod
from plimsoll.apiserver.model.kinds.policy import limit_range, pod_disruption_budget, resource_quota
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.storage import (
    csi_driver,
    csi_node,
    csi_storage_capacity,
    persistent_volume,
    persistent_volume_claim,
    storage_class,
    volume_attachment,
    volume_attributes_class,
)
from plimsoll.apiserver.model.kinds.workloads import (
    controller_revision,
    cron_job,
    daemon_set,
    deployment,
    job,
    pod_template,
    replica_set,
    replication_controller,
    stateful_set,
)
from plimsoll.apiserver.model.policies import kinds as admission_policies

STORAGE = "storage.k8s.io"

RULES: dict[tuple[str, str], KindRules] = (
    RULES_BY_KIND
    | admission_configuration.RULES
    | admission_policies.RULES
    | {
        ("", "ConfigMap"): config_map.RULES,
        ("", "Endpoints"): endpoints.ENDPOINTS,
        ("", "Event"): event.CORE_RULES,
        ("", "LimitRange"): limit_range.RULES,
        ("", "Namespace"): namespace.RULES,
        ("", "Node"): node.RULES,
        ("", "PersistentVolume"): persistent_volume.RULES,
        ("", "PersistentVolumeClaim"): persistent_volume_claim.RULES,
        ("", "Pod"): pod.RULES,
        ("", "PodTemplate"): pod_template.RULES,
        ("", "ReplicationController"): replication_controller.RULES,
        ("", "ResourceQuota"): resource_quota.RULES,
        ("", "Secret"): secret.RULES,
        ("", "Service"): service.RULES,
        ("", "ServiceAccount"): service_account.RULES,
        ("apiextensions.k8s.io", "CustomResourceDefinition"): definition.RULES,
        ("apps", "ControllerRevision"): controller_revision.RULES,
        ("apps", "DaemonSet"): daemon_set.RULES,
        ("apps", "Deployment"): deployment.RULES,
        ("apps", "ReplicaSet"): replica_set.RULES,
        ("apps", "StatefulSet"): stateful_set.RULES,
        ("batch", "CronJob"): cron_job.RULES,
        ("batch", "Job"): job.RULES,
        ("coordination.k8s.io", "Lease"): lease.RULES,
        ("discovery.k8s.io", "EndpointSlice"): endpoints.ENDPOINT_SLICE,
        ("certificates.k8s.io", "CertificateSigningRequest"): certificate_signing_request.RULES,
        ("events.k8s.io", "Event"): event.NEW_RULES,
        ("node.k8s.io", "RuntimeClass"): runtime_class.RULES,
        ("policy", "PodDisruptionBudget"): pod_disruption_budget.RULES,
        ("scheduling.k8s.io", "PriorityClass"): priority_class.RULES,
        (rbac.GROUP, "ClusterRole"): rbac.CLUSTER_ROLE,
        (rbac.GROUP, "ClusterRoleBinding"): rbac.CLUSTER_ROLE_BINDING,
        (rbac.GROUP, "Role"): rbac.ROLE,
        (rbac.GROUP, "RoleBinding"): rbac.ROLE_BINDING,
        (STORAGE, "CSIDriver"): csi_driver.RULES,
        (STORAGE, "CSINode"): csi_node.RULES,
        (STORAGE, "CSIStorageCapacity"): csi_storage_capacity.RULES,
        (STORAGE, "StorageClass"): storage_class.RULES,
        (STORAGE, "VolumeAttachment"): volume_attachment.RULES,
        (STORAGE, "VolumeAttributesClass"): volume_attributes_class.RULES,
    }
)
"""By (group, kind)."""

PLAIN = KindRules()


def rules_for(group: str, kind: str) -> KindRules:
    """Rules of the kind; one without any of its own has a subdomain as name and no more."""
    return RULES.get((group, kind), PLAIN)
