"""The scale subresource: how many replicas, without having to know the kind of the workload."""

from collections.abc import Iterator
from copy import deepcopy

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import not_negative
from plimsoll.apiserver.model.status import invalid

SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(workload: Document) -> Document:
    """The Scale of a StatefulSet, Deployment, ReplicaSet or ReplicationController."""
    meta = workload["metadata"]
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    # Zero replicas are not shown in the spec, but are in the status.
    wanted = spec.get("replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in SHOWN_METADATA if name in meta},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {"replicas": status.get("replicas", 0)} | _shown_selector(spec.get("selector")),
    }


def scaled(workload: Document, scale: Document) -> Document:
    """The workload with as many replicas as the Scale says; the Scale's status is ignored.

    The version is the Scale's, so that a stale one is noticed. Raises ApiError.
    """
    errors = list(scale_errors(scale))
    if errors:
        raise invalid("autoscaling", "Scale", workload["metadata"].get("name", ""), errors)
    changed = deepcopy(workload)
    changed.setdefault("spec", {})["replicas"] = (scale.get("spec") or {}).get("replicas", 0)
    meta = scale.get("metadata") or {}
    for name in ("resourceVersion", "uid"):
        changed["metadata"].pop(name, None)
        if meta.get(name):
            changed["metadata"][name] = meta[name]
    return changed


def scale_errors(scale: Document) -> Iterator[FieldError]:
    """Everything but metadata."""
    yield from not_negative((scale.get("spec") or {}).get("replicas", 0), "spec.replicas")


def _shown_selector(selector: Document | None) -> Document:
    text = selector_text(selector or {})
    return {"selector": text} if text else {}


def selector_text(selector: Document) -> str:
    """A selector as it is written in a query; a ReplicationController's is only labels."""
    is_plain = not selector.keys() & {"matchLabels", "matchExpressions"}
    labels = selector if is_plain else selector.get("matchLabels") or {}
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    requirements = [] if is_plain else selector.get("matchExpressions") or []
    parts += [(item.get("key", ""), _requirement_text(item)) for item in requirements]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _requirement_text(requirement: Document) -> str:
    key = requirement.get("key", "")
    values = ",".join(sorted(requirement.get("values") or []))
    match requirement.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return f"{key}"
        case _:
            return f"!{key}"
