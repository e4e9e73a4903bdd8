"""PodResizeValidator: a pod is not resized beyond what its node has."""

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.kinds.pods.totals import (
    QUALITY_RESOURCES,
    amounts_of,
    total_resources,
)
from plimsoll.apiserver.model.status import forbidden

OS_LABEL = "kubernetes.io/os"


def check(attributes: Attributes) -> None:
    pod, old = attributes.document, attributes.old
    if attributes.subresource != "resize" or attributes.operation is not Operation.UPDATE:
        return
    name = (pod.get("spec") or {}).get("nodeName", "")
    if not name or old is None or pod.get("spec") == old.get("spec"):
        return
    node = attributes.reader.get("", "nodes", "", name)
    if node is None:
        raise forbidden(attributes.resource, attributes.name, f'node "{name}" not found')
    system = (node["metadata"].get("labels") or {}).get(OS_LABEL, "linux")
    if system != "linux":
        why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
        raise forbidden(attributes.resource, attributes.name, why, [_cause("UnsupportedPlatform")])
    lacking = "; ".join(_lacking(pod["spec"], node))
    if lacking:
        why = f"node didn't have enough allocatable resources: {lacking}"
        raise forbidden(attributes.resource, attributes.name, why, [_cause("NodeCapacity")])


def _cause(reason: str) -> Document:
    return {"reason": reason}


def _lacking(spec: Document, node: Document) -> list[str]:
    requests = total_resources(spec, "requests")
    requests |= {n: parse_quantity(text) for n, text in amounts_of(spec, "requests").items()}
    for name, text in (spec.get("overhead") or {}).items():
        requests[name] = requests.get(name, Quantity(0)) + parse_quantity(text)
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    found = []
    for name in QUALITY_RESOURCES:
        wanted, there = requests.get(name, Quantity(0)), parse_quantity(allocatable.get(name, "0"))
        if wanted > there:
            numbers = [q.milli_value if name == "cpu" else q.value for q in (wanted, there)]
            found.append(f"{name}, requested: {numbers[0]}, allocatable: {numbers[1]}")
    return found
