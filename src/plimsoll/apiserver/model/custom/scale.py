"""The scale subresource of custom kinds: numbers at the places that their definition names."""

from typing import Any

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.json_paths import find_value, simple_names
from plimsoll.apiserver.model.kinds.workloads.scale import SHOWN_METADATA, scale_errors
from plimsoll.apiserver.model.status import ApiError, invalid


def scale_of(paths: Document, document: Document) -> Document:
    """The Scale of an object. Raises 500 where its number of replicas is not set."""
    wanted = find_value(paths["specReplicasPath"], document)
    if not isinstance(wanted, int):
        raise ApiError(
            500,
            "InternalError",
            "Internal error occurred: the spec replicas field "
            f'"{paths["specReplicasPath"]}" does not exist',
        )
    meta = document["metadata"]
    found = find_value(paths["statusReplicasPath"], document)
    status: Document = {"replicas": found if isinstance(found, int) else 0}
    selector = find_value(paths.get("labelSelectorPath") or ".", document)
    if paths.get("labelSelectorPath") and isinstance(selector, str) and selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in SHOWN_METADATA if name in meta},
        "spec": {"replicas": wanted} if wanted else {},
        "status": status,
    }


def scaled(paths: Document, document: Document, scale: Document) -> Document:
    """The object with as many replicas as the Scale says. Raises ApiError."""
    errors = list(scale_errors(scale))
    if errors:
        raise invalid("autoscaling", "Scale", document["metadata"].get("name", ""), errors)
    changed: Document = clone(document)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    _set(changed, simple_names(paths["specReplicasPath"]), replicas)
    meta = scale.get("metadata") or {}
    for name in ("resourceVersion", "uid"):
        changed["metadata"].pop(name, None)
        if meta.get(name):
            changed["metadata"][name] = meta[name]
    return changed


def _set(document: Document, names: list[str], value: Any) -> None:
    holder = document
    for name in names[:-1]:
        below = holder.setdefault(name, {})
        if not isinstance(below, dict):
            return
        holder = below
    holder[names[-1]] = value
