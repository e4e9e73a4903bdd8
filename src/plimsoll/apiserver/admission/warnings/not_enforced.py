"""Fields that the server stores and does not enforce yet: clients are warned beside the answer
(Warning headers).

No user should rely on a policy that is only stored. Each entry of the tables goes away with the
code that makes the promise true. Pure: documents in, sentences out.
"""

from collections.abc import Iterator, Mapping

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.admission.quota.usage import is_counted

START = "plimsoll: stored, but not enforced: "
"""How every such warning begins."""

DEVICES = "nothing here allocates devices"
FLOW = "the priority levels of this server are built in"

KINDS: Mapping[tuple[str, str], str] = {
    ("apiregistration.k8s.io", "APIService"): "requests are not handed on to other servers",
    ("autoscaling", "HorizontalPodAutoscaler"): "nothing here scales by load",
    ("certificates.k8s.io", "CertificateSigningRequest"): "nothing here signs certificates",
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): FLOW,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): FLOW,
    ("networking.k8s.io", "Ingress"): "pods have no network here",
    ("networking.k8s.io", "NetworkPolicy"): "pods have no network here",
    ("resource.k8s.io", "DeviceClass"): DEVICES,
    ("resource.k8s.io", "ResourceClaim"): DEVICES,
    ("resource.k8s.io", "ResourceClaimTemplate"): DEVICES,
}
"""By (group, kind): why objects of the kind have no effect."""

QUOTA = ("", "ResourceQuota")
KNOWN = KINDS.keys() | {QUOTA}


def not_enforced(resource: Resource, new: Document, old: Document | None) -> list[str]:
    """The warnings for a write; none for an update that leaves the specification alone."""
    kind = (resource.group, resource.kind)
    if kind not in KNOWN or (old is not None and _specification(new) == _specification(old)):
        return []
    whole = [KINDS[kind]] if kind in KINDS else []
    return [START + text for text in (*whole, *_quota(kind, new))]


def _specification(document: Document) -> Document:
    head = ("kind", "apiVersion", "metadata", "status")
    return {field: value for field, value in document.items() if field not in head}


def _quota(kind: tuple[str, str], document: Document) -> Iterator[str]:
    if kind == QUOTA:
        for name in (document.get("spec") or {}).get("hard") or {}:
            if not is_counted(name):
                yield f"spec.hard[{name}]: this server does not count it"
