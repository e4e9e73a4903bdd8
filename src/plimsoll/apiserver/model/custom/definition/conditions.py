"""The status of a definition: which of its names it got, and whether it is served.

A name belongs to the definition of its group that has it already; another one that asks for it
waits until it is free. A definition is established once all its names are accepted, and stays so.
"""

from collections.abc import Iterable

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.definition.spec import APPROVED, is_protected

NAMES_ACCEPTED = "NamesAccepted"
ESTABLISHED = "Established"
TERMINATING = "Terminating"
CONFORMANT = "KubernetesAPIApprovalPolicyConformant"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"

RESOURCE_NAMES = ("plural", "singular")
KIND_NAMES = ("kind", "listKind")
REASONS = {
    "plural": "PluralConflict",
    "singular": "SingularConflict",
    "shortNames": "ShortNamesConflict",
    "kind": "KindConflict",
    "listKind": "ListKindConflict",
}


def find_condition(definition: Document, kind: str) -> Document | None:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), None)


def is_true(definition: Document, kind: str) -> bool:
    found = find_condition(definition, kind)
    return found is not None and found.get("status") == "True"


def set_condition(definition: Document, wanted: Document, now: str) -> None:
    """Its time changes with its status alone."""
    status = definition.setdefault("status", {})
    conditions = list(status.get("conditions") or ())
    old = find_condition(definition, wanted["type"])
    since = now if old is None or old["status"] != wanted["status"] else old["lastTransitionTime"]
    new = {"type": wanted["type"], "status": wanted["status"], "lastTransitionTime": since}
    new |= {"reason": wanted["reason"], "message": wanted["message"]}
    if old is None:
        conditions.append(new)
    else:
        conditions[conditions.index(old)] = new
    status["conditions"] = conditions


def condition(kind: str, status: str, reason: str, message: str) -> Document:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def is_settled(definition: Document) -> bool:
    """It has the names that it asks for, and says so."""
    held = (definition.get("status") or {}).get("acceptedNames") or {}
    return _same_names(definition["spec"]["names"], held) and is_true(definition, ESTABLISHED)


def settle_names(definition: Document, others: Iterable[Document], now: str) -> None:
    """Accept the names that are free, say so, and establish the definition if all are.

    `others` are the other definitions, of all groups. Changes the definition in place.
    """
    spec, status = definition["spec"], definition.setdefault("status", {})
    wanted, held = spec["names"], status.get("acceptedNames") or {}
    taken_resources, taken_kinds = _taken(spec["group"], others)
    accepted = dict(held)
    refusal: Document | None = None
    for field in (*RESOURCE_NAMES, "shortNames", *KIND_NAMES):
        taken = taken_kinds if field in KIND_NAMES else taken_resources
        conflict = _conflict(wanted.get(field), held.get(field), taken)
        if conflict:
            refusal = condition(NAMES_ACCEPTED, "False", REASONS[field], conflict)
        else:
            _take(accepted, field, wanted)
    _take(accepted, "categories", wanted)
    status["acceptedNames"] = accepted
    _set_names_conditions(definition, refusal, now)


def _set_names_conditions(definition: Document, refusal: Document | None, now: str) -> None:
    fine = condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    set_condition(definition, refusal or fine, now)
    if is_true(definition, ESTABLISHED):
        return
    if refusal is None:
        said = "the initial names have been accepted"
        established = condition(ESTABLISHED, "True", "InitialNamesAccepted", said)
    else:
        established = condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
    set_condition(definition, established, now)
    settle_approval(definition, now)


def settle_approval(definition: Document, now: str) -> None:
    """Whether a group of Kubernetes itself agrees."""
    if not is_protected(definition["spec"]["group"]):
        return
    given = (definition["metadata"].get("annotations") or {}).get(APPROVED, "")
    if given.startswith("unapproved"):
        wanted = condition(CONFORMANT, "False", "UnapprovedAnnotation", f'not approved: "{given}"')
    else:
        wanted = condition(CONFORMANT, "True", "ApprovedAnnotation", f"approved in {given}")
    set_condition(definition, wanted, now)


def _same_names(wanted: Document, held: Document) -> bool:
    fields = (*RESOURCE_NAMES, *KIND_NAMES, "shortNames", "categories")
    return all((wanted.get(field) or None) == (held.get(field) or None) for field in fields)


def _take(accepted: Document, field: str, wanted: Document) -> None:
    accepted.pop(field, None)
    if wanted.get(field):
        accepted[field] = wanted[field]


def _taken(group: str, others: Iterable[Document]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other["spec"]["group"] != group:
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get(field, "") for field in RESOURCE_NAMES}
        resources |= set(names.get("shortNames") or ())
        kinds |= {names.get(field, "") for field in KIND_NAMES}
    return resources, kinds


def _conflict(wanted: object, held: object, taken: set[str]) -> str:
    """Which name another definition has; empty: none."""
    if isinstance(wanted, list):
        mine = set(held) if isinstance(held, list) else set()
        others = [name for name in wanted if name not in mine and name in taken]
        return ", ".join(f'"{name}" is already in use' for name in others)
    if wanted and wanted != held and wanted in taken:
        return f'"{wanted}" is already in use'
    return ""


def mark_terminating(definition: Document, now: str) -> None:
    """A deletion was asked for: the objects go first."""
    meta = definition["metadata"]
    meta["deletionTimestamp"] = now
    finalizers = list(meta.get("finalizers") or ())
    if CLEANUP not in finalizers:
        finalizers.append(CLEANUP)
    meta["finalizers"] = finalizers
    said = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    set_condition(definition, condition(TERMINATING, "True", "InstanceDeletionPending", said), now)
