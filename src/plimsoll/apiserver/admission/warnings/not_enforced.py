"""What is stored and means nothing here yet, told to clients beside the answer (Warning headers).

No user should rely on a policy that is only stored. Each entry of the tables goes away with the
code that makes the promise true. Pure: documents in, sentences out.
"""

from collections.abc import Callable, Iterator, Mapping

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.admission.quota.usage import is_counted

START = "plimsoll: stored, but not enforced: "
"""How every such warning begins."""

ADMISSION = "this server runs no admission policies"
WEBHOOKS = "this server calls no webhooks"
ROLES = "roles are not consulted; administrators may do everything, others nothing"
DEVICES = "nothing here allocates devices"
FLOW = "requests are not queued by priority"

KINDS: Mapping[tuple[str, str], str] = {
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): ADMISSION,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): ADMISSION,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): ADMISSION,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): ADMISSION,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "custom resources are not served",
    ("apiregistration.k8s.io", "APIService"): "requests are not handed on to other servers",
    ("autoscaling", "HorizontalPodAutoscaler"): "nothing here scales by load",
    ("certificates.k8s.io", "CertificateSigningRequest"): "nothing here signs certificates",
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): FLOW,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): FLOW,
    ("networking.k8s.io", "Ingress"): "pods have no network here",
    ("networking.k8s.io", "NetworkPolicy"): "pods have no network here",
    ("rbac.authorization.k8s.io", "ClusterRole"): ROLES,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ROLES,
    ("rbac.authorization.k8s.io", "Role"): ROLES,
    ("rbac.authorization.k8s.io", "RoleBinding"): ROLES,
    ("resource.k8s.io", "DeviceClass"): DEVICES,
    ("resource.k8s.io", "ResourceClaim"): DEVICES,
    ("resource.k8s.io", "ResourceClaimTemplate"): DEVICES,
}
"""By (group, kind): why objects of the kind have no effect."""

TEMPLATES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): ("spec",),
    ("", "PodTemplate"): ("template", "spec"),
    ("", "ReplicationController"): ("spec", "template", "spec"),
    ("apps", "DaemonSet"): ("spec", "template", "spec"),
    ("apps", "Deployment"): ("spec", "template", "spec"),
    ("apps", "ReplicaSet"): ("spec", "template", "spec"),
    ("apps", "StatefulSet"): ("spec", "template", "spec"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
    ("batch", "Job"): ("spec", "template", "spec"),
}
"""By (group, kind): where the pod that the kind is or makes is specified."""


def _has_host_port(spec: Document) -> bool:
    return any(
        port.get("hostPort")
        for kind in ("containers", "initContainers")
        for container in spec.get(kind) or ()
        for port in container.get("ports") or ()
    )


POD_FIELDS: Mapping[str, Callable[[Document], object]] = {
    "affinity.podAffinity": lambda spec: (spec.get("affinity") or {}).get("podAffinity"),
    "affinity.podAntiAffinity": lambda spec: (spec.get("affinity") or {}).get("podAntiAffinity"),
    "topologySpreadConstraints": lambda spec: spec.get("topologySpreadConstraints"),
    "containers[*].ports[*].hostPort": _has_host_port,
    "resourceClaims": lambda spec: spec.get("resourceClaims"),
}
"""Fields of pods that plimsoll scheduler does not look at, and how to find them."""

QUOTA = ("", "ResourceQuota")
KNOWN = KINDS.keys() | TEMPLATES.keys() | {QUOTA}

IMPERSONATION = "impersonate-user"
IMPERSONATED = "plimsoll: Impersonate-User (--as) is ignored: the request is answered as your own"


def not_enforced(resource: Resource, new: Document, old: Document | None) -> list[str]:
    """The warnings for a write; none for an update that leaves the specification alone."""
    kind = (resource.group, resource.kind)
    if kind not in KNOWN or (old is not None and _specification(new) == _specification(old)):
        return []
    whole = [KINDS[kind]] if kind in KINDS else []
    return [START + text for text in (*whole, *_quota(kind, new), *_pod(kind, new))]


def _specification(document: Document) -> Document:
    head = ("kind", "apiVersion", "metadata", "status")
    return {field: value for field, value in document.items() if field not in head}


def _pod(kind: tuple[str, str], document: Document) -> Iterator[str]:
    path = TEMPLATES.get(kind)
    if path is None:
        return
    spec = document
    for step in path:
        spec = spec.get(step) or {}
    for field, find in POD_FIELDS.items():
        if find(spec):
            yield f"{'.'.join(path)}.{field}: plimsoll scheduler does not look at it"


def _quota(kind: tuple[str, str], document: Document) -> Iterator[str]:
    if kind == QUOTA:
        for name in (document.get("spec") or {}).get("hard") or {}:
            if not is_counted(name):
                yield f"spec.hard[{name}]: this server does not count it"


def ignored_headers(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The warnings for headers that ask for something that the server does not do."""
    return (IMPERSONATED,) if IMPERSONATION in headers else ()
