"""The admission plugins in their order: first those that change a request, then those that refuse.

Each is a plain function over Attributes, called for the resources that it is about; what else it
does not care about it lets pass. They have the names that kube-apiserver gives them, by which they
can be switched off.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from plimsoll.api.registry import Resource
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
Concern = frozenset[tuple[str, str]] | None
"""Group and plural name of the resources that a plugin is about; None: all."""
Plugins = tuple[tuple[str, Step, Concern], ...]

PODS = frozenset({("", "pods")})
CLAIMS = frozenset({("", "persistentvolumeclaims")})
NODES = frozenset({("", "nodes")})
PRIORITY_CLASSES = frozenset({(priority.GROUP, priority.CLASSES)})
PROTECTED = frozenset(storage_object_in_use_protection.FINALIZERS)

LIFECYCLE = "NamespaceLifecycle"
MUTATING: Plugins = (
    (LIFECYCLE, namespace_lifecycle.check, None),
    ("LimitRanger", limit_ranger.admit, PODS),
    ("TaintNodesByCondition", taint_nodes_by_condition.admit, NODES),
    ("Priority", priority.admit, PODS),
    ("DefaultTolerationSeconds", default_toleration_seconds.admit, PODS),
    ("RuntimeClass", runtime_class.admit, PODS),
    ("DefaultStorageClass", default_storage_class.admit, CLAIMS),
    ("StorageObjectInUseProtection", storage_object_in_use_protection.admit, PROTECTED),
    ("PodTopologyLabels", pod_topology_labels.admit, PODS),
)
VALIDATING: Plugins = (
    ("LimitRanger", limit_ranger.check, PODS | CLAIMS),
    ("Priority", priority.check, PRIORITY_CLASSES),
    ("RuntimeClass", runtime_class.check, PODS),
    ("PersistentVolumeClaimResize", persistent_volume_claim_resize.check, CLAIMS),
    ("ResourceQuota", resource_quota.check, None),
)
FINISHED_BY_CONTROLLERS = frozenset({"TaintNodesByCondition"})
"""Plugins whose work a controller ends: where none runs, they are better switched off."""
PLUGINS = tuple(dict.fromkeys(name for name, _, _ in (*MUTATING, *VALIDATING)))
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
        for step in _mutating(attributes.resource, self.disabled):
            step(attributes)

    def check(self, attributes: Attributes) -> None:
        """After validation; all there is on deletion. Raises ApiError."""
        if attributes.operation is Operation.DELETE and LIFECYCLE not in self.disabled:
            namespace_lifecycle.check(attributes)
        for step in _validating(attributes.resource, self.disabled):
            step(attributes)


@cache
def _mutating(resource: Resource, disabled: frozenset[str]) -> tuple[Step, ...]:
    return _steps(MUTATING, resource, disabled)


@cache
def _validating(resource: Resource, disabled: frozenset[str]) -> tuple[Step, ...]:
    return _steps(VALIDATING, resource, disabled)


def _steps(plugins: Plugins, resource: Resource, disabled: frozenset[str]) -> tuple[Step, ...]:
    """The plugins that a write of the resource passes."""
    place = (resource.group, resource.plural)
    return tuple(
        step
        for name, step, concern in plugins
        if name not in disabled and (concern is None or place in concern)
    )
