"""Pods that are resized in place: `pods/{name}/resize` changes cpu and memory, and nothing else."""

from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.annotations import MIRROR
from plimsoll.apiserver.model.kinds.pods.spec import pod_errors
from plimsoll.apiserver.model.kinds.pods.totals import (
    QUALITY_RESOURCES,
    amounts_of,
    quality_of_service,
)

LISTS = ("containers", "initContainers")
AMOUNTS = ("requests", "limits")
RESIZED = ("resources", "resizePolicy")
ONLY_CPU_AND_MEMORY = "only cpu and memory resources are mutable"


def prepare_resize(new: Document, old: Document, _now: datetime) -> None:
    """Only what a resize is about is taken from the client."""
    asked, spec = new["spec"], clone(old["spec"])
    if any(len(asked.get(kind) or []) != len(spec.get(kind) or []) for kind in LISTS):
        return  # refused by validation, which names the lists
    for kind in LISTS:
        if kind in asked:
            spec[kind] = _resized(asked[kind], spec[kind])
    spec.pop("resources", None)
    if "resources" in asked:
        spec["resources"] = asked["resources"]
    new["spec"] = spec
    if "status" in old:
        new["status"] = old["status"]


def _resized(asked: list[Document], held: list[Document]) -> list[Document]:
    if [c.get("name") for c in asked] != [c.get("name") for c in held]:
        return asked  # refused by validation, which names the container
    return [
        {name: value for name, value in before.items() if name not in RESIZED}
        | {name: after[name] for name in RESIZED if name in after}
        for after, before in zip(asked, held, strict=True)
    ]


def resize_errors(new: Document, old: Document) -> Iterator[FieldError]:
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield FieldError.forbidden("", "static pods cannot be resized")
        return
    spec, before = new["spec"], old["spec"]
    if (before.get("os") or {}).get("name") == "windows":
        yield FieldError.forbidden("", "windows pods cannot be resized")
        return
    found = [*pod_errors(new), *_pod_errors(new, old)]
    yield from found
    misplaced = list(_order_errors(spec, before))
    yield from misplaced
    if misplaced:
        return
    found += (more := [*_container_errors(spec, before)])
    yield from more
    if not found and _with_amounts_undone(spec, before) != before:
        yield FieldError.forbidden("spec", ONLY_CPU_AND_MEMORY)


def _pod_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """What speaks against it for the pod as a whole."""
    quality = (old.get("status") or {}).get("qosClass") or quality_of_service(old["spec"])
    if quality_of_service(new["spec"]) != quality:
        yield FieldError.invalid(
            "spec", quality, "Pod QOS Class may not change as a result of resizing"
        )
    if not _is_supported(old):
        yield FieldError.forbidden("spec", "Pod running on node without support for resize")
    if (old.get("status") or {}).get("nodeAllocatableResourceClaimStatuses"):
        yield FieldError.forbidden(
            "spec", "pods with node allocatable resource claims cannot be resized"
        )
    yield from _pod_level_errors(new["spec"], old["spec"])


def _is_supported(pod: Document) -> bool:
    """A kubelet that can resize reports the resources of the containers that it runs."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if "running" in (status.get("state") or {}):
            return "resources" in status
    return True


def _pod_level_errors(spec: Document, before: Document) -> Iterator[FieldError]:
    if not any(amounts_of(each, kind) for each in (spec, before) for kind in AMOUNTS):
        return
    if "resources" in before and "resources" not in spec:
        yield FieldError.forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    for kind in AMOUNTS:
        if not _keeps(amounts_of(spec, kind), amounts_of(before, kind)):
            yield FieldError.forbidden(
                f"spec.resources.{kind}", f"pod-level resource {kind} cannot be removed"
            )
    undone = _amounts_undone(spec, before)
    if undone.get("resources") != before.get("resources"):
        yield FieldError.forbidden("spec", f"{ONLY_CPU_AND_MEMORY} at pod-level")


def _keeps(after: dict[str, str], before: dict[str, str]) -> bool:
    return before.keys() <= after.keys()


def _order_errors(spec: Document, before: Document) -> Iterator[FieldError]:
    for kind in LISTS:
        after, held = spec.get(kind) or [], before.get(kind) or []
        if len(after) != len(held):
            yield FieldError.forbidden(
                f"spec.{kind}", f"{kind} may not be added or removed on resize"
            )
            continue
        for index, (one, other) in enumerate(zip(after, held, strict=True)):
            if one.get("name") != other.get("name"):
                yield FieldError.forbidden(
                    f"spec.{kind}[{index}].name",
                    f"{kind} may not be renamed or reordered on resize",
                )


def _container_errors(spec: Document, before: Document) -> Iterator[FieldError]:
    for kind in reversed(LISTS):
        pairs = zip(spec.get(kind) or [], before.get(kind) or [], strict=True)
        for index, (after, held) in enumerate(pairs):
            yield from _removal_errors(after, held, f"spec.{kind}[{index}].resources")
            is_first = kind == "initContainers"
            if _amounts_undone(after, held) != held:
                where = f"spec.{kind}[{index}]" if is_first else "spec"
                which = " for init or sidecar containers" if is_first else ""
                yield FieldError.forbidden(
                    where, f"only cpu and memory resources{which} are mutable"
                )
            if is_first and after != held and _restarts_on_resize(after):
                yield FieldError.forbidden(
                    f"spec.{kind}[{index}]",
                    "non-sidecar init containers with a resize policy of RestartContainer cannot "
                    "be resized",
                )


def _removal_errors(after: Document, held: Document, path: str) -> Iterator[FieldError]:
    for kind in AMOUNTS:
        if not _keeps(amounts_of(after, kind), amounts_of(held, kind)):
            yield FieldError.forbidden(f"{path}.{kind}", f"resource {kind} cannot be removed")


def _restarts_on_resize(container: Document) -> bool:
    if container.get("restartPolicy") == "Always":
        return False
    policies = container.get("resizePolicy") or ()
    return any(policy.get("restartPolicy") == "RestartContainer" for policy in policies)


def _with_amounts_undone(spec: Document, before: Document) -> Document:
    undone = _amounts_undone(spec, before)
    for kind in LISTS:
        if kind in spec:
            pairs = zip(spec[kind], before[kind], strict=True)
            undone[kind] = [_amounts_undone(after, held) for after, held in pairs]
    return undone


def _amounts_undone(after: Document, held: Document) -> Document:
    """The holder of resources with the cpu and memory that it had; all else as it is wanted."""
    undone: Document = dict(after)
    resources = {
        name: value for name, value in (after.get("resources") or {}).items() if name not in AMOUNTS
    }
    for kind in AMOUNTS:
        was = amounts_of(held, kind)
        others = {k: v for k, v in amounts_of(after, kind).items() if k not in QUALITY_RESOURCES}
        amounts = others | {k: was[k] for k in QUALITY_RESOURCES if k in was}
        if amounts or kind in (held.get("resources") or {}):
            resources[kind] = amounts
    if resources or "resources" in held:
        undone["resources"] = resources
    else:
        undone.pop("resources", None)
    return undone
