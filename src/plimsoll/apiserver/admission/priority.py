"""Priority: a pod's priority is what its class says, never what the pod says."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation, Reader
from plimsoll.apiserver.model.status import forbidden

GROUP = "scheduling.k8s.io"
CLASSES = "priorityclasses"
NO_CLASS: Document = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}


def admit(attributes: Attributes) -> None:
    resource = attributes.resource
    if (resource.group, resource.plural) != ("", "pods") or attributes.subresource:
        return
    if attributes.operation is Operation.CREATE:
        _resolve(attributes)
    elif attributes.operation is Operation.UPDATE:
        _carry_over(attributes)


def _resolve(attributes: Attributes) -> None:
    spec = attributes.document["spec"]
    chosen = _class_of(attributes, spec.get("priorityClassName", ""))
    if "metadata" in chosen:
        spec["priorityClassName"] = chosen["metadata"]["name"]
    computed = {
        "priority": chosen.get("value", 0),
        "preemptionPolicy": chosen.get("preemptionPolicy", "PreemptLowerPriority"),
    }
    for field, value in computed.items():
        if field in spec and spec[field] != value:
            raise forbidden(
                attributes.resource,
                attributes.name,
                f"the value of {field} ({spec[field]}) must not be provided in pod spec; priority "
                f"admission controller computed {value} from the given PriorityClass name",
            )
        spec[field] = value


def _class_of(attributes: Attributes, name: str) -> Document:
    if not name:
        return find_default(attributes.reader) or NO_CLASS
    chosen = attributes.reader.get(GROUP, CLASSES, "", name)
    if chosen is None:
        raise forbidden(
            attributes.resource,
            attributes.name,
            f"no PriorityClass with name {name} was found",
        )
    return chosen


def _carry_over(attributes: Attributes) -> None:
    """Clients that leave out what they never set do not mean to remove it."""
    old = (attributes.old or {}).get("spec") or {}
    for field in ("priority", "preemptionPolicy"):
        if field in old:
            attributes.document["spec"].setdefault(field, old[field])


def find_default(reader: Reader) -> Document | None:
    """The class of pods that name none. Of several, which only a race can make, the lowest."""
    marked = [c for c in reader.list(GROUP, CLASSES) if c.get("globalDefault")]
    return min(marked, key=lambda c: int(c.get("value", 0)), default=None)


def check(attributes: Attributes) -> None:
    """There can be only one default."""
    resource = attributes.resource
    if (resource.group, resource.plural) != (GROUP, CLASSES) or attributes.subresource:
        return
    is_write = attributes.operation in (Operation.CREATE, Operation.UPDATE)
    if not is_write or not attributes.document.get("globalDefault"):
        return
    marked = find_default(attributes.reader)
    if marked is not None and marked["metadata"]["name"] != attributes.name:
        raise forbidden(
            resource,
            attributes.name,
            f"PriorityClass {marked['metadata']['name']} is already marked as default. "
            "Only one default can exist",
        )
