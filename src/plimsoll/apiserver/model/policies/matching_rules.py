"""What is wrong with the part of a policy or binding that says which requests it is about."""

from collections.abc import Iterator, Sequence

from plimsoll.api.names import name_is_path_segment
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
SCOPES = ("*", "Cluster", "Namespaced")
MATCH_POLICIES = ("Equivalent", "Exact")


def match_errors(match: Document, path: str) -> Iterator[FieldError]:
    """Of `matchConstraints` or `matchResources`."""
    policy = match.get("matchPolicy", "Equivalent")
    if policy not in MATCH_POLICIES:
        yield FieldError.not_supported(f"{path}.matchPolicy", policy, MATCH_POLICIES)
    for selector in ("namespaceSelector", "objectSelector"):
        yield from label_selector_errors(match.get(selector) or {}, f"{path}.{selector}")
    for rules in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(rules) or ()):
            yield from _rule_errors(rule, f"{path}.{rules}[{index}]")


def _rule_errors(rule: Document, path: str) -> Iterator[FieldError]:
    names = rule.get("resourceNames") or []
    for index, name in enumerate(names):
        for error in name_is_path_segment(name, False):
            yield FieldError.invalid(f"{path}.resourceNames[{index}]", name, error)
        if name in names[:index]:
            yield FieldError.duplicate(f"{path}.resourceNames[{index}]", name)
    yield from _operation_errors(rule.get("operations") or [], f"{path}.operations")
    yield from _listed(rule.get("apiGroups"), f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    yield from _listed(versions, f"{path}.apiVersions", "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield FieldError.required(f"{path}.apiVersions[{index}]")
    yield from _resource_errors(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope", "*")
    if scope not in SCOPES:
        yield FieldError.not_supported(f"{path}.scope", scope, SCOPES)


def _listed(values: Sequence[str] | None, path: str, called: str) -> Iterator[FieldError]:
    if not values:
        yield FieldError.required(path)
    elif "*" in values and len(values) > 1:
        said = f"if '*' is present, must not specify other {called}"
        yield FieldError.invalid(path, list(values), said)


def _operation_errors(operations: list[str], path: str) -> Iterator[FieldError]:
    yield from _listed(operations, path, "operations")
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            yield FieldError.not_supported(f"{path}[{index}]", operation, OPERATIONS)


def _resource_errors(resources: list[str], path: str) -> Iterator[FieldError]:
    if not resources:
        yield FieldError.required(path)
    whole: set[str] = set()
    """Resources of which all subresources are named, and subresources of all resources."""
    for index, named in enumerate(resources):
        if not named:
            yield FieldError.required(f"{path}[{index}]")
            continue
        resource, slash, subresource = named.partition("/")
        if not slash:
            continue
        for pattern in (f"{resource}/*", f"*/{subresource}"):
            if pattern in whole:
                said = f"if '{pattern}' is present, must not specify {named}"
                yield FieldError.invalid(f"{path}[{index}]", named, said)
        if subresource == "*" or resource == "*":
            whole.add(named)
    if len(resources) > 1 and "*/*" in resources:
        said = "if '*/*' is present, must not specify other resources"
        yield FieldError.invalid(path, resources, said)
    others = [named for named in resources if named and "/" not in named]
    if "*" in others and others[-1] != "*":
        said = "if '*' is present, must not specify other resources without subresources"
        yield FieldError.invalid(path, resources, said)
