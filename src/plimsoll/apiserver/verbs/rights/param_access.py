"""Writes of policies and bindings: no user has a policy read parameters that they may not read.

What a policy refuses, and with which message, tells of its parameters.
"""

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.admission.policies.index import POLICIES
from plimsoll.apiserver.admission.policies.params import PolicyConfigurationError, find_kind
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.policies.kinds import BINDING, GROUP, POLICY
from plimsoll.apiserver.verbs.write import Write, refuse

ALL = "*"


def check_params(write: Write, new: Document, old: Document | None) -> None:
    """Raises 422 if the writer may not read what the policy would."""
    kind = write.kind.resource.kind
    if write.kind.resource.group != GROUP or write.user.is_admin:
        return
    if kind == POLICY and _changes(new, old, "paramKind"):
        refuse(write, new, _kind_errors(write, new["spec"]["paramKind"]))
    if kind == BINDING and _changes(new, old, "paramRef", "policyName"):
        refuse(write, new, _reference_errors(write, new["spec"]))


def _changes(new: Document, old: Document | None, field: str, *others: str) -> bool:
    """The object has the field, and had not the same in all of the fields before."""
    spec = new.get("spec") or {}
    before = (old or {}).get("spec") or {}
    return bool(spec.get(field)) and any(
        spec.get(name) != before.get(name) for name in (field, *others)
    )


def _resource(write: Write, kind: Document) -> tuple[str, str]:
    """Group and plural name; all resources where the kind is not known."""
    group, _, _ = kind.get("apiVersion", "").rpartition("/")
    try:
        found = find_kind(kind, write.cluster.reader)
    except PolicyConfigurationError:
        return group, ALL
    return found[0], found[1]


def _kind_errors(write: Write, kind: Document) -> list[FieldError]:
    group, plural = _resource(write, kind)
    asked = AccessAttributes(verb="get", group=group, resource=plural, namespace=ALL, name=ALL)
    if write.cluster.access.allows(write.user, asked):
        return []
    said = (
        f'user {write.user.name} must have "get" permission on all objects of the referenced '
        f"paramKind (kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')})"
    )
    return [FieldError.forbidden("spec.paramKind", said)]


def _reference_errors(write: Write, spec: Document) -> list[FieldError]:
    reference, policy = spec["paramRef"], spec.get("policyName", "")
    stored = write.cluster.reader.get(GROUP, POLICIES, "", policy)
    kind = ((stored or {}).get("spec") or {}).get("paramKind")
    group, plural = (ALL, ALL) if kind is None else _resource(write, kind)
    verb = "get" if reference.get("name") else "list"
    asked = AccessAttributes(
        verb=verb,
        group=group,
        resource=plural,
        namespace=reference.get("namespace", ""),
        name=reference.get("name", ""),
    )
    if write.cluster.access.allows(write.user, asked):
        return []
    said = (
        f'user {write.user.name} does not have "{verb}" permission on the object referenced by '
        "paramRef"
    )
    if stored is None:
        said = (
            f"unable to get policy {policy} to determine minimum required permissions and user "
            f'{write.user.name} does not have "{verb}" permission for all groups, versions and '
            "resources"
        )
    return [FieldError.forbidden("spec.paramRef", said)]
