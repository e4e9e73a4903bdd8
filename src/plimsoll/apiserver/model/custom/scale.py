"""The scale subresource of custom kinds: numbers at the places that their definition names."""

from typing import Any

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.json_paths import find_value, simple_names
from plimsoll.apiserver.model.kinds.workloads.scale import SHOWN_METADATA, scale_errors
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid

UNSET = -(2**31)
"""What a write finds in the place of a number that is not set, and may not leave there."""


def is_set(paths: Document, document: Document) -> bool:
    return isinstance(find_value(paths["specReplicasPath"], document), int)


def check_is_set(paths: Document, document: Document) -> None:
    """Raises 500 where the number of replicas is not set: such an object has no Scale to read."""
    if not is_set(paths, document):
        raise ApiError(
            500,
            "InternalError",
            "Internal error occurred: the spec replicas field "
            f'"{paths["specReplicasPath"]}" does not exist',
        )


def scale_of(paths: Document, document: Document) -> Document:
    """The Scale of an object; of `UNSET` replicas where their number is not set."""
    wanted = find_value(paths["specReplicasPath"], document) if is_set(paths, document) else UNSET
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
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas == UNSET and not is_set(paths, document):
        raise bad_request(f'the spec replicas field "{paths["specReplicasPath"]}" cannot be empty')
    errors = list(scale_errors(scale))
    if errors:
        raise invalid("autoscaling", "Scale", document["metadata"].get("name", ""), errors)
    changed: Document = clone(document)
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
