"""The admission plugins in their order: first those that change a request, then those that refuse.

Each is a plain function over Attributes, called for the resources that it is about; what else it
does not care about it lets pass. They have the names that kube-apiserver gives them, by which they
can be switched off, or on where they are off.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from plimsoll.api.registry import Resource
from plimsoll.apiserver.admission import (
    default_ingress_class,
    default_storage_class,
    default_toleration_seconds,
    limit_ranger,
    namespace_lifecycle,
    persistent_volume_claim_resize,
    pod_topology_labels,
    priority,
    runtime_class,
    service_account,
    storage_object_in_use_protection,
    taint_nodes_by_condition,
)
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.certificates import subject_restriction, verdicts
from plimsoll.apiserver.admission.node_restriction import plugin as node_restriction
from plimsoll.apiserver.admission.optional import pods as of_pods, requests as of_requests
from plimsoll.apiserver.admission.pod_security import plugin as pod_security
from plimsoll.apiserver.admission.policies import plugin as policies
from plimsoll.apiserver.admission.quota import resource_quota
from plimsoll.apiserver.admission.resizing import (
    node_declared_feature_validator,
    pod_resize_validator,
)
from plimsoll.apiserver.admission.webhooks import steps as webhooks

Step = Callable[[Attributes], None]
Concern = frozenset[tuple[str, str]] | None
"""Group and plural name of the resources that a plugin is about; None: all."""
Plugins = tuple[tuple[str, Step, Concern], ...]

PODS = frozenset({("", "pods")})
CLAIMS = frozenset({("", "persistentvolumeclaims")})
NODES = frozenset({("", "nodes")})
PRIORITY_CLASSES = frozenset({(priority.GROUP, priority.CLASSES)})
SERVICES = frozenset({("", "services")})
INGRESSES = frozenset({(default_ingress_class.GROUP, "ingresses")})
SIGNING_REQUESTS = frozenset({("certificates.k8s.io", "certificatesigningrequests")})
PROTECTED = frozenset(storage_object_in_use_protection.FINALIZERS)

LIFECYCLE = "NamespaceLifecycle"
SERVICE_ACCOUNT = "ServiceAccount"
NODE_RESTRICTION = "NodeRestriction"
WEBHOOKS = "MutatingAdmissionWebhook"
"""After all other plugins that change something."""
MUTATING: Plugins = (
    (LIFECYCLE, namespace_lifecycle.check, None),
    ("LimitRanger", limit_ranger.admit, PODS),
    (SERVICE_ACCOUNT, service_account.admit, PODS),
    (NODE_RESTRICTION, node_restriction.admit, node_restriction.CONCERN),
    ("TaintNodesByCondition", taint_nodes_by_condition.admit, NODES),
    ("AlwaysPullImages", of_pods.pull_always, PODS),
    ("Priority", priority.admit, PODS),
    ("DefaultTolerationSeconds", default_toleration_seconds.admit, PODS),
    ("ExtendedResourceToleration", of_pods.tolerate_extended_resources, PODS),
    ("RuntimeClass", runtime_class.admit, PODS),
    ("DefaultStorageClass", default_storage_class.admit, CLAIMS),
    ("StorageObjectInUseProtection", storage_object_in_use_protection.admit, PROTECTED),
    ("DefaultIngressClass", default_ingress_class.admit, INGRESSES),
    ("PodTopologyLabels", pod_topology_labels.admit, PODS),
)
VALIDATING: Plugins = (
    ("AlwaysAdmit", of_requests.admit_all, None),
    ("NamespaceExists", of_requests.check_namespace, None),
    ("LimitPodHardAntiAffinityTopology", of_pods.check_anti_affinity, PODS),
    ("LimitRanger", limit_ranger.check, PODS | CLAIMS),
    (SERVICE_ACCOUNT, service_account.check, PODS),
    ("PodSecurity", pod_security.check, pod_security.CONCERN),
    ("Priority", priority.check, PRIORITY_CLASSES),
    ("RuntimeClass", runtime_class.check, PODS),
    ("PersistentVolumeClaimResize", persistent_volume_claim_resize.check, CLAIMS),
    ("CertificateApproval", verdicts.check_approval, SIGNING_REQUESTS),
    ("CertificateSigning", verdicts.check_signing, SIGNING_REQUESTS),
    ("CertificateSubjectRestriction", subject_restriction.check, SIGNING_REQUESTS),
    ("DenyServiceExternalIPs", of_requests.check_external_addresses, SERVICES),
    ("NodeDeclaredFeatureValidator", node_declared_feature_validator.check, PODS),
    ("PodResizeValidator", pod_resize_validator.check, PODS),
    ("ValidatingAdmissionPolicy", policies.check, None),
    ("ValidatingAdmissionWebhook", webhooks.validate, None),
    # After all that can refuse: it counts only what nothing else refuses.
    ("ResourceQuota", resource_quota.check, None),
    ("AlwaysDeny", of_requests.deny_all, None),
)
OPTIONAL = frozenset(
    {
        "AlwaysAdmit",
        "AlwaysDeny",
        "AlwaysPullImages",
        "DenyServiceExternalIPs",
        "ExtendedResourceToleration",
        "LimitPodHardAntiAffinityTopology",
        "NamespaceExists",
    }
)
"""Plugins that are off unless they are named."""
FINISHED_BY_CONTROLLERS = frozenset({"TaintNodesByCondition", SERVICE_ACCOUNT})
"""Plugins whose work a controller ends: where none runs, they are better switched off."""
PLUGINS = tuple(
    dict.fromkeys(
        [*(name for name, _, _ in MUTATING), WEBHOOKS, *(name for name, _, _ in VALIDATING)]
    )
)
NOT_BUILT = frozenset(
    {
        "ClusterTrustBundleAttest",
        "EventRateLimit",
        "ImagePolicyWebhook",
        "JobValidation",
        "MutatingAdmissionPolicy",
        "NamespaceAutoProvision",
        "OwnerReferencesPermissionEnforcement",
        "PodGroupProtection",
        "PodGroupWorkloadExists",
        "PodNodeSelector",
        "PodTolerationRestriction",
    }
)
"""Plugins of kube-apiserver that are not there, and so are always off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChoice:
    """Which plugins are switched on and off, against the default."""

    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    @property
    def off(self) -> frozenset[str]:
        return self.disabled | (OPTIONAL - self.enabled)


def parse_plugins(*, enable: str, disable: str) -> PluginChoice:
    """Names of plugins, separated by commas. Raises ValueError, in kube-apiserver's words."""
    enabled, disabled = _names(enable), _names(disable)
    known = NOT_BUILT | frozenset(PLUGINS)
    errors = [
        f'{flag} plugin "{name}" is unknown'
        for flag, names in (
            ("enable-admission-plugins", enabled),
            ("disable-admission-plugins", disabled),
        )
        for name in sorted(names - known)
    ]
    if both := sorted(enabled & disabled):
        listed = f"[{' '.join(both)}]"
        errors.append(
            f"{listed} in enable-admission-plugins and disable-admission-plugins overlapped"
        )
    errors += [
        f"this server has no plugin {name} to enable" for name in sorted(enabled & NOT_BUILT)
    ]
    if errors:
        raise ValueError(f"{'; '.join(errors)}; there are {', '.join(sorted(PLUGINS))}")
    return PluginChoice(enabled=enabled, disabled=disabled)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The plugins of one server."""

    plugins: PluginChoice = PluginChoice()

    @property
    def mounts_tokens(self) -> bool:
        """Pods need accounts, and what their tokens are mounted with."""
        return SERVICE_ACCOUNT not in self.plugins.disabled

    def admit(self, attributes: Attributes) -> None:
        """Before validation. Raises ApiError."""
        self._change(attributes)
        if WEBHOOKS not in self.plugins.disabled:
            webhooks.mutate(attributes, partial(self._change, attributes))

    def _change(self, attributes: Attributes) -> None:
        for step in _mutating(attributes.resource, self.plugins):
            step(attributes)

    def check(self, attributes: Attributes) -> None:
        """After validation; all there is on deletion. Raises ApiError."""
        if attributes.operation is Operation.DELETE:
            if LIFECYCLE not in self.plugins.disabled:
                namespace_lifecycle.check(attributes)
            if NODE_RESTRICTION not in self.plugins.disabled:
                node_restriction.on_deletion(attributes)
            if WEBHOOKS not in self.plugins.disabled:
                webhooks.mutate(attributes, _nothing)
        for step in _validating(attributes.resource, self.plugins):
            step(attributes)


def _nothing() -> None:
    """A webhook can change nothing of an object that is deleted."""


@lru_cache(maxsize=1024)
def _mutating(resource: Resource, choice: PluginChoice) -> tuple[Step, ...]:
    return _steps(MUTATING, resource, choice.off)


@lru_cache(maxsize=1024)
def _validating(resource: Resource, choice: PluginChoice) -> tuple[Step, ...]:
    return _steps(VALIDATING, resource, choice.off)


def _steps(plugins: Plugins, resource: Resource, off: frozenset[str]) -> tuple[Step, ...]:
    """The plugins that a write of the resource passes."""
    place = (resource.group, resource.plural)
    return tuple(
        step
        for name, step, concern in plugins
        if name not in off and (concern is None or place in concern)
    )
