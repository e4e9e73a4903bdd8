"""Writes of roles and bindings: no user grants more than they have.

A user who has the verb `escalate` on a role, or `bind` on the role that a binding names, may do it
all the same.
"""

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.rbac.escalation import (
    AGGREGATION_REFUSED,
    FULL_AUTHORITY,
    find_escalation,
)
from plimsoll.apiserver.access.rbac.index import GROUP
from plimsoll.apiserver.access.rbac.rules import PolicyRule, parse_rules
from plimsoll.apiserver.model.status import forbidden, not_found
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of
from plimsoll.apiserver.verbs.rights.param_access import check_params
from plimsoll.apiserver.verbs.write import Write

BOOKKEEPING = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
"""What the garbage collector changes."""


def check_grants(write: Write, new: Document, old: Document | None) -> None:
    """Raises 403 if the writer would grant what they do not have."""
    check_params(write, new, old)
    if write.kind.resource.group != GROUP or write.user.is_admin:
        return
    if old is not None and _is_bookkeeping(new, old):
        return
    why = _find_objection(write, new, old)
    if why is not None:
        raise forbidden(write.kind.resource, new["metadata"].get("name", ""), why)


def _find_objection(write: Write, new: Document, old: Document | None) -> str | None:
    if "roleRef" in new:
        return _binding_objection(write, new["roleRef"])
    return _role_objection(write, new, old)


def _role_objection(write: Write, new: Document, old: Document | None) -> str | None:
    resource, target = write.kind.resource.plural, write.target
    escalate = AccessAttributes(
        verb="escalate",
        group=GROUP,
        resource=resource,
        namespace=target.namespace,
        name=target.name,
    )
    if write.cluster.access.allows(write.user, escalate):
        return None
    why = _escalation(write, parse_rules(new))
    if why is not None:
        return why
    if _is_aggregated(new) or (old is not None and _is_aggregated(old)):
        return AGGREGATION_REFUSED if _escalation(write, FULL_AUTHORITY) is not None else None
    return None


def _binding_objection(write: Write, role: Document) -> str | None:
    kind, name = role.get("kind", ""), role.get("name", "")
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(kind)
    if plural is None:
        return None  # Validation refuses it.
    namespace = write.target.namespace
    bind = AccessAttributes(
        verb="bind",
        group=role.get("apiGroup", ""),
        resource=plural,
        namespace=namespace,
        name=name,
    )
    if write.cluster.access.allows(write.user, bind):
        return None
    kind_of_role = kind_of(resources_by_path()[GROUP, "v1", plural])
    return _escalation(write, _rules_of(write, kind_of_role, name))


def _rules_of(write: Write, kind: ResourceKind, name: str) -> tuple[PolicyRule, ...]:
    """Of the role that is bound. Raises 404: what is not there cannot be compared."""
    namespace = write.target.namespace if kind.resource.namespaced else ""
    record = write.cluster.collection(kind).newest(f"{namespace}/{name}" if namespace else name)
    if record is None:
        raise not_found(kind.resource, name)
    return parse_rules(record.document())


def _escalation(write: Write, wanted: tuple[PolicyRule, ...]) -> str | None:
    held = write.cluster.access.rules_of(write.user, write.target.namespace)
    return find_escalation(write.user, held, wanted)


def _is_aggregated(role: Document) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _is_bookkeeping(new: Document, old: Document) -> bool:
    return _compared(new) == _compared(old)


def _compared(document: Document) -> Document:
    meta = {k: v for k, v in document["metadata"].items() if k not in BOOKKEEPING}
    return document | {"metadata": meta}
