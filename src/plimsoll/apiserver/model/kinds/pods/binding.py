"""Binding a pod to a node: `POST pods/{name}/binding`."""

from datetime import datetime

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.status import condition
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid


def check_binding(binding: Document, name: str) -> None:
    """Refuse a binding that is wrong whatever the pod is; `name` is the pod's in the URL."""
    if (binding.get("metadata") or {}).get("name", "") != name:
        raise bad_request("name in URL does not match name in Binding object")
    target = binding.get("target") or {}
    errors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(FieldError.not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(FieldError.required("target.name"))
    if errors:
        raise invalid("", "Binding", name, errors)


def bind(pod: Document, binding: Document, now: datetime) -> Document:
    """The pod on its node. Raises ApiError when it may not go there (any more)."""
    name = pod["metadata"]["name"]
    meta = binding.get("metadata") or {}
    check_binding(binding, name)
    _check_preconditions(pod["metadata"], meta)
    _check_unbound(pod, name)
    bound: Document = clone(pod)
    bound["spec"]["nodeName"] = binding["target"]["name"]
    for field in ("annotations", "labels"):
        if meta.get(field):
            bound["metadata"][field] = (bound["metadata"].get(field) or {}) | meta[field]
    status = bound.setdefault("status", {})
    # A nominated node has no meaning once the pod has a node.
    status.pop("nominatedNodeName", None)
    set_condition(status, condition("PodScheduled", "True", now))
    return bound


def _check_preconditions(pod: Document, binding: Document) -> None:
    for field in ("uid", "resourceVersion"):
        wanted = binding.get(field)
        if wanted and wanted != pod.get(field):
            raise _conflict(
                "pods",
                pod["name"],
                f"Precondition failed: {field} in precondition: {wanted}, "
                f"in object meta: {pod.get(field)}",
            )


def _check_unbound(pod: Document, name: str) -> None:
    spec = pod.get("spec") or {}
    if "deletionTimestamp" in pod["metadata"]:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise _conflict("pods/binding", name, why)


def _conflict(kind: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
    return ApiError(409, "Conflict", message, {"name": name, "kind": kind})


def set_condition(status: Document, new: Document) -> None:
    """Replace the condition of that type; its time stays when only the words change."""
    conditions = status.get("conditions") or []
    for index, old in enumerate(conditions):
        if old.get("type") == new["type"]:
            if old.get("status") == new["status"]:
                new = new | {"lastTransitionTime": old.get("lastTransitionTime")}
            status["conditions"] = [*conditions[:index], new, *conditions[index + 1 :]]
            return
    status["conditions"] = [*conditions, new]
