"""What may change in a pod that exists: next to nothing of its spec."""

from collections.abc import Iterator

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.annotations import annotation_change_errors
from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import REQUIRED
from plimsoll.apiserver.model.kinds.pods.scheduling.tolerations import removed_toleration_errors
from plimsoll.apiserver.model.kinds.pods.spec import pod_errors
from plimsoll.apiserver.model.kinds.pods.values import MAX_INT32

CHECKED_APART = ("activeDeadlineSeconds", "schedulingGates", "tolerations")
MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def pod_update_errors(new: Document, old: Document) -> Iterator[FieldError]:
    yield from pod_errors(new)
    yield from annotation_change_errors(
        _annotations(new), _annotations(old), "metadata.annotations"
    )
    yield from _spec_change_errors(new.get("spec") or {}, old.get("spec") or {})


def _annotations(pod: Document) -> dict[str, str]:
    annotations: dict[str, str] = (pod.get("metadata") or {}).get("annotations") or {}
    return annotations


def _spec_change_errors(new: Document, old: Document) -> Iterator[FieldError]:
    for kind in ("containers", "initContainers"):
        if len(new.get(kind) or []) != len(old.get(kind) or []):
            yield FieldError.forbidden(
                f"spec.{kind}", "pod updates may not add or remove containers"
            )
            return
    deadline = list(_deadline_errors(new, old))
    yield from deadline
    if deadline and "activeDeadlineSeconds" in new:
        return
    yield from removed_toleration_errors(
        new.get("tolerations") or [], old.get("tolerations") or [], "spec.tolerations"
    )
    yield from _added_gate_errors(new.get("schedulingGates") or [], old)
    if new == old:
        return
    changed = _with_allowed_changes_undone(new, old)
    if old.get("schedulingGates"):
        yield from _narrowing_errors(changed, old)
    if changed != old:
        yield FieldError.forbidden("spec", MAY_CHANGE)


def _deadline_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """A deadline may be set and come closer, but not move away."""
    path = "spec.activeDeadlineSeconds"
    after, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if after is None:
        if before is not None:
            yield FieldError.invalid(path, None, "must not update from a positive integer to nil")
    elif not 0 <= after <= MAX_INT32:
        yield FieldError.invalid(path, after, f"must be between 0 and {MAX_INT32}, inclusive")
    elif before is not None and before < after:
        yield FieldError.invalid(path, after, "must be less than or equal to previous value")


def _added_gate_errors(gates: list[Document], old: Document) -> Iterator[FieldError]:
    known = {gate.get("name", "") for gate in old.get("schedulingGates") or []}
    last = {gate.get("name", ""): index for index, gate in enumerate(gates)}
    for name, index in last.items():
        if name not in known:
            yield FieldError.forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{name}'",
            )


def _with_allowed_changes_undone(new: Document, old: Document) -> Document:
    changed: Document = clone(new)
    for kind in ("containers", "initContainers"):
        for container, before in zip(changed.get(kind) or [], old.get(kind) or [], strict=True):
            container["image"] = before.get("image", "")
    for name in CHECKED_APART:
        _restore(name, changed, old)
    was_negative = old.get("terminationGracePeriodSeconds", 0) < 0
    if was_negative and changed.get("terminationGracePeriodSeconds") == 1:
        _restore("terminationGracePeriodSeconds", changed, old)
    return changed


def _restore(name: str, changed: Document, old: Document) -> None:
    changed.pop(name, None)
    if name in old:
        changed[name] = old[name]


# While gates hold a pod back, it may become choosier about nodes.


def _narrowing_errors(changed: Document, old: Document) -> Iterator[FieldError]:
    """Also takes back what it allows, so that `changed` differs from `old` only in the rest."""
    selector = changed.get("nodeSelector") or {}
    for key, value in (old.get("nodeSelector") or {}).items():
        if selector.get(key) != value:
            yield FieldError.invalid(
                "spec.nodeSelector",
                selector,
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            )
            break
    _restore("nodeSelector", changed, old)
    before = (old.get("affinity") or {}).get("nodeAffinity")
    after = (changed.get("affinity") or {}).get("nodeAffinity")
    if before == after:
        return
    yield from _affinity_change_errors(after or {}, before or {})
    affinity = {
        k: v for k, v in (changed.pop("affinity", None) or {}).items() if k != "nodeAffinity"
    }
    if before is not None:
        affinity["nodeAffinity"] = before
    if affinity or "affinity" in old:
        changed["affinity"] = affinity


def _affinity_change_errors(after: Document, before: Document) -> Iterator[FieldError]:
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    old_terms = (before.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    new_terms = (after.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if not old_terms:
        return
    if len(old_terms) != len(new_terms):
        yield FieldError.invalid(
            path,
            new_terms,
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        )
        return
    for index, (term, old_term) in enumerate(zip(new_terms, old_terms, strict=True)):
        if not _only_adds(term, old_term):
            yield FieldError.invalid(
                f"{path}[{index}]", term, "only additions are allowed (no mutations or deletions)"
            )


def _only_adds(term: Document, old: Document) -> bool:
    """A term without requirements matches no node: adding some would widen the choice."""
    pairs = [
        (old.get(name) or [], term.get(name) or []) for name in ("matchExpressions", "matchFields")
    ]
    if not any(before for before, _ in pairs):
        return not any(after for _, after in pairs)
    return all(after[: len(before)] == before for before, after in pairs)
