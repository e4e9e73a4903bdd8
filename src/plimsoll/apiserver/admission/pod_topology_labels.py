"""PodTopologyLabels: a pod carries the zone and region of the node that it is bound to.

Where a label of the pod says something else, the node's counts. A node that is not known changes
nothing.
"""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation

LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def admit(attributes: Attributes) -> None:
    resource = attributes.resource
    is_pod = (resource.group, resource.plural) == ("", "pods")
    if not is_pod or attributes.operation is not Operation.CREATE:
        return
    found = _labels(attributes, _node_name(attributes))
    if found:
        meta = attributes.document.setdefault("metadata", {})
        meta["labels"] = (meta.get("labels") or {}) | found


def _node_name(attributes: Attributes) -> str:
    """Of a pod that comes with its node, or of a Binding; empty for anything else."""
    document = attributes.document
    match attributes.subresource:
        case "":
            name: str = (document.get("spec") or {}).get("nodeName", "")
            return name
        case "binding":
            target: Document = document.get("target") or {}
            return target.get("name", "") if target.get("kind") == "Node" else ""
        case _:
            return ""


def _labels(attributes: Attributes, node_name: str) -> dict[str, str]:
    node = attributes.reader.get("", "nodes", "", node_name) if node_name else None
    labels = node["metadata"].get("labels") or {} if node is not None else {}
    return {key: labels[key] for key in LABELS if key in labels}
