"""Roles and their bindings, in a namespace and for the whole cluster."""

from collections.abc import Callable, Iterator

from plimsoll.api.names import dns_subdomain_errors, name_is_path_segment
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import IMMUTABLE
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors

GROUP = "rbac.authorization.k8s.io"
SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def name_errors(name: str, _prefix: bool) -> list[str]:  # noqa: FBT001  (contract of KindRules)
    """A generateName prefix is measured like a name."""
    return name_is_path_segment(name, prefix=False)


# Roles


def rule_errors(rule: Document, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    if not rule.get("verbs"):
        yield FieldError.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            yield FieldError.invalid(
                f"{path}.nonResourceURLs",
                urls,
                "namespaced rules cannot apply to non-resource URLs",
            )
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            yield FieldError.invalid(
                f"{path}.nonResourceURLs",
                urls,
                "rules cannot apply to both regular resources and non-resource URLs",
            )
        return
    if not rule.get("apiGroups"):
        yield FieldError.required(
            f"{path}.apiGroups", "resource rules must supply at least one api group"
        )
    if not rule.get("resources"):
        yield FieldError.required(
            f"{path}.resources", "resource rules must supply at least one resource"
        )


def validate_role(role: Document) -> Iterator[FieldError]:
    for index, rule in enumerate(role.get("rules") or ()):
        yield from rule_errors(rule, f"rules[{index}]", namespaced=True)


def validate_cluster_role(role: Document) -> Iterator[FieldError]:
    for index, rule in enumerate(role.get("rules") or ()):
        yield from rule_errors(rule, f"rules[{index}]", namespaced=False)
    if "aggregationRule" in role:
        selectors = role["aggregationRule"].get("clusterRoleSelectors") or ()
        path = "aggregationRule.clusterRoleSelectors"
        if not selectors:
            yield FieldError.required(
                path, "at least one clusterRoleSelector required if aggregationRule is non-nil"
            )
        for index, selector in enumerate(selectors):
            yield from label_selector_errors(selector, f"{path}[{index}]")


# Bindings


def default_binding(binding: Document) -> None:
    role = binding.get("roleRef")
    if role is not None and not role.get("apiGroup"):
        role["apiGroup"] = GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


def validate_role_binding(binding: Document) -> Iterator[FieldError]:
    yield from _role_errors(binding.get("roleRef", {}), ("Role", "ClusterRole"))
    for index, subject in enumerate(binding.get("subjects") or ()):
        yield from subject_errors(subject, f"subjects[{index}]", namespaced=True)


def validate_cluster_role_binding(binding: Document) -> Iterator[FieldError]:
    yield from _role_errors(binding.get("roleRef", {}), ("ClusterRole",))
    for index, subject in enumerate(binding.get("subjects") or ()):
        yield from subject_errors(subject, f"subjects[{index}]", namespaced=False)


def _role_errors(role: Document, kinds: tuple[str, ...]) -> Iterator[FieldError]:
    group = role.get("apiGroup", "")
    if group != GROUP:
        yield FieldError.not_supported("roleRef.apiGroup", group, (GROUP,))
    if role.get("kind", "") not in kinds:
        yield FieldError.not_supported("roleRef.kind", role.get("kind", ""), kinds)
    name = role.get("name", "")
    if not name:
        yield FieldError.required("roleRef.name")
    for error in name_is_path_segment(name, prefix=False):
        yield FieldError.invalid("roleRef.name", name, error)


def subject_errors(subject: Document, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    name, group = subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        yield FieldError.required(f"{path}.name")
    match subject.get("kind", ""):
        case "ServiceAccount":
            yield from _account_errors(subject, path)
            if not namespaced and not subject.get("namespace"):
                yield FieldError.required(f"{path}.namespace")
        case "User" | "Group":
            if group != GROUP:
                yield FieldError.not_supported(f"{path}.apiGroup", group, (GROUP,))
        case kind:
            yield FieldError.not_supported(f"{path}.kind", kind, SUBJECT_KINDS)


def _account_errors(subject: Document, path: str) -> Iterator[FieldError]:
    name, group = subject.get("name", ""), subject.get("apiGroup", "")
    if name:
        for error in dns_subdomain_errors(name):
            yield FieldError.invalid(f"{path}.name", name, error)
    if group:
        yield FieldError.not_supported(f"{path}.apiGroup", group, ("",))


# Rules of the four kinds

Validate = Callable[[Document], Iterator[FieldError]]


def _role_rules(validate: Validate) -> KindRules:
    return KindRules(
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        name_errors=name_errors,
        create_on_update=True,
    )


def _binding_rules(validate: Validate) -> KindRules:
    def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
        yield from validate(new)
        if new.get("roleRef") != old.get("roleRef"):
            yield FieldError.invalid("roleRef", new.get("roleRef"), IMMUTABLE)

    return KindRules(
        default=default_binding,
        validate=validate,
        validate_update=validate_update,
        name_errors=name_errors,
        create_on_update=True,
    )


ROLE = _role_rules(validate_role)
CLUSTER_ROLE = _role_rules(validate_cluster_role)
ROLE_BINDING = _binding_rules(validate_role_binding)
CLUSTER_ROLE_BINDING = _binding_rules(validate_cluster_role_binding)
