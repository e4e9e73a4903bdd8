"""RuntimeClass: a pod that names one gets its overhead, and its choice of nodes."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.status import forbidden


def admit(attributes: Attributes) -> None:
    chosen = _class_of(attributes)
    if chosen is None:
        return
    spec = attributes.document["spec"]
    overhead = (chosen.get("overhead") or {}).get("podFixed")
    if overhead:
        if spec.get("overhead") and spec["overhead"] != overhead:
            raise _rejected(attributes, "Pod's Overhead doesn't match RuntimeClass's definition")
        spec["overhead"] = dict(overhead)
    _add_scheduling(attributes, spec, chosen.get("scheduling") or {})


def _add_scheduling(attributes: Attributes, spec: Document, scheduling: Document) -> None:
    wanted = spec.get("nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if wanted.get(key, value) != value:
            raise _rejected(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {wanted[key]}",
            )
        wanted = wanted | {key: value}
    if wanted:
        spec["nodeSelector"] = wanted
    tolerations = spec.get("tolerations") or []
    added = [t for t in scheduling.get("tolerations") or [] if t not in tolerations]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def check(attributes: Attributes) -> None:
    """Only a class can say what it costs to run a pod."""
    if not _is_new_pod(attributes) or not attributes.document["spec"].get("overhead"):
        return
    chosen = _class_of(attributes)
    if chosen is None or not (chosen.get("overhead") or {}).get("podFixed"):
        raise _rejected(attributes, "Pod Overhead set without corresponding RuntimeClass Overhead")


def _is_new_pod(attributes: Attributes) -> bool:
    resource = attributes.resource
    is_pod = (resource.group, resource.plural) == ("", "pods") and not attributes.subresource
    return is_pod and attributes.operation is Operation.CREATE


def _class_of(attributes: Attributes) -> Document | None:
    if not _is_new_pod(attributes):
        return None
    name = attributes.document["spec"].get("runtimeClassName")
    if name is None:
        return None
    chosen = attributes.reader.get("node.k8s.io", "runtimeclasses", "", name)
    if chosen is None:
        raise forbidden(
            attributes.resource,
            attributes.name,
            f'pod rejected: RuntimeClass "{name}" not found',
        )
    return chosen


def _rejected(attributes: Attributes, why: str) -> Exception:
    return forbidden(attributes.resource, attributes.name, f"pod rejected: {why}")
