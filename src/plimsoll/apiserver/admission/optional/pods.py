"""AlwaysPullImages, ExtendedResourceToleration, LimitPodHardAntiAffinityTopology."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import REQUIRED
from plimsoll.apiserver.model.kinds.pods.totals import amounts_of
from plimsoll.apiserver.model.kinds.resource_names import is_extended
from plimsoll.apiserver.model.status import forbidden

CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
HOST = "kubernetes.io/hostname"


def _containers(pod: Document) -> Iterator[Document]:
    for kind in CONTAINERS:
        yield from (pod.get("spec") or {}).get(kind) or ()


def pull_always(attributes: Attributes) -> None:
    """No pod uses an image that only another pod was allowed to pull."""
    if attributes.operation is not Operation.DELETE and not attributes.subresource:
        for container in _containers(attributes.document):
            container["imagePullPolicy"] = "Always"


def tolerate_extended_resources(attributes: Attributes) -> None:
    """Nodes with rare resources may be tainted with their names."""
    if attributes.operation is Operation.DELETE or attributes.subresource:
        return
    pod = attributes.document
    wanted = {n for c in _containers(pod) for n in amounts_of(c, "requests") if is_extended(n)}
    spec = pod.setdefault("spec", {})
    for name in sorted(wanted):
        toleration = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
        if toleration not in (spec.get("tolerations") or []):
            spec["tolerations"] = [*(spec.get("tolerations") or []), toleration]


def check_anti_affinity(attributes: Attributes) -> None:
    """No pod keeps others away from more than its own node."""
    if attributes.operation is Operation.DELETE or attributes.subresource:
        return
    affinity = (attributes.document.get("spec") or {}).get("affinity") or {}
    for term in (affinity.get("podAntiAffinity") or {}).get(REQUIRED) or ():
        if term.get("topologyKey") != HOST:
            why = (
                "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey "
                f"{term.get('topologyKey')} but only key {HOST} is allowed"
            )
            raise forbidden(attributes.resource, attributes.name, why)
