"""The admission plugins in their order: first those that change a request, then those that refuse.

Each is a plain function over Attributes; what it does not care about it lets pass. They have the
names that kube-apiserver gives them, by which they can be switched off.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from plimsoll.apiserver.admission import (
    default_storage_class,
    default_toleration_seconds,
    limit_ranger,
    namespace_lifecycle,
    persistent_volume_claim_resize,
    pod_topology_labels,
    priority,
    runtime_class,
    storage_object_in_use_protection,
    taint_nodes_by_condition,
)
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.quota import resource_quota

Step = Callable[[Attributes], None]

LIFECYCLE = "NamespaceLifecycle"
MUTATING: tuple[tuple[str, Step], ...] = (
    (LIFECYCLE, namespace_lifecycle.check),
    ("LimitRanger", limit_ranger.admit),
    ("TaintNodesByCondition", taint_nodes_by_condition.admit),
    ("Priority", priority.admit),
    ("DefaultTolerationSeconds", default_toleration_seconds.admit),
    ("RuntimeClass", runtime_class.admit),
    ("DefaultStorageClass", default_storage_class.admit),
    ("StorageObjectInUseProtection", storage_object_in_use_protection.admit),
    ("PodTopologyLabels", pod_topology_labels.admit),
)
VALIDATING: tuple[tuple[str, Step], ...] = (
    ("LimitRanger", limit_ranger.check),
    ("Priority", priority.check),
    ("RuntimeClass", runtime_class.check),
    ("PersistentVolumeClaimResize", persistent_volume_claim_resize.check),
    ("ResourceQuota", resource_quota.check),
)
FINISHED_BY_CONTROLLERS = frozenset({"TaintNodesByCondition"})
"""Plugins whose work a controller ends: where none runs, they are better switched off."""
PLUGINS = tuple(dict.fromkeys(name for name, _ in (*MUTATING, *VALIDATING)))
NOT_BUILT = frozenset(
    {
        "AlwaysAdmit",
        "AlwaysDeny",
        "AlwaysPullImages",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "ClusterTrustBundleAttest",
        "DefaultIngressClass",
        "DenyServiceExternalIPs",
        "EventRateLimit",
        "ExtendedResourceToleration",
        "ImagePolicyWebhook",
        "JobValidation",
        "LimitPodHardAntiAffinityTopology",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionWebhook",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "NodeDeclaredFeatureValidator",
        "NodeRestriction",
        "OwnerReferencesPermissionEnforcement",
        "PodGroupProtection",
        "PodGroupWorkloadExists",
        "PodNodeSelector",
        "PodResizeValidator",
        "PodSecurity",
        "PodTolerationRestriction",
        "ServiceAccount",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    }
)
"""Plugins of kube-apiserver that are not there, and so are always off."""


def parse_disabled(text: str) -> frozenset[str]:
    """Names of plugins, separated by commas. Raises ValueError for one that does not exist."""
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    unknown = names - NOT_BUILT - set(PLUGINS)
    if unknown:
        raise ValueError(
            f"no admission plugin is called {', '.join(sorted(unknown))}; "
            f"there are {', '.join(sorted(PLUGINS))}"
        )
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The plugins of one server."""

    disabled: frozenset[str] = field(default_factory=frozenset)

    def admit(self, attributes: Attributes) -> None:
        """Before validation. Raises ApiError."""
        for name, step in MUTATING:
            if name not in self.disabled:
                step(attributes)

    def check(self, attributes: Attributes) -> None:
        """After validation; all there is on deletion. Raises ApiError."""
        if attributes.operation is Operation.DELETE and LIFECYCLE not in self.disabled:
            namespace_lifecycle.check(attributes)
        for name, step in VALIDATING:
            if name not in self.disabled:
                step(attributes)
