"""One rule of a role, and whether it allows what is asked for; pure.

A star stands for all verbs, groups or resources, `*/scale` for that subresource of all resources. A
rule with names allows for those objects alone: never for a list of all, and not for creation, whose
name is not known when it is asked for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes

ALL = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Paths that are no resources; a star at the end stands for every ending."""

    def concerns(self, asked: AccessAttributes) -> bool:
        """Whether the rule allows it for some name, or for all."""
        if not _has(self.verbs, asked.verb):
            return False
        if asked.path is not None:
            return any(covers_path(path, asked.path) for path in self.paths)
        return _has(self.groups, asked.group) and self._has_resource(asked)

    def allows(self, asked: AccessAttributes) -> bool:
        return self.concerns(asked) and (not self.names or asked.name in self.names)

    def _has_resource(self, asked: AccessAttributes) -> bool:
        if _has(self.resources, asked.full_resource):
            return True
        return bool(asked.subresource) and f"*/{asked.subresource}" in self.resources


def _has(held: tuple[str, ...], wanted: str) -> bool:
    return wanted in held or ALL in held


def covers_path(held: str, wanted: str) -> bool:
    if held == wanted:
        return True
    return held.endswith(ALL) and wanted.startswith(held.rstrip(ALL))


def parse_rules(role: Document) -> tuple[PolicyRule, ...]:
    """The rules of a stored Role or ClusterRole."""
    return tuple(parse_rule(rule) for rule in role.get("rules") or ())


def parse_rule(rule: Document) -> PolicyRule:
    return PolicyRule(
        verbs=tuple(rule.get("verbs") or ()),
        groups=tuple(rule.get("apiGroups") or ()),
        resources=tuple(rule.get("resources") or ()),
        names=tuple(rule.get("resourceNames") or ()),
        paths=tuple(rule.get("nonResourceURLs") or ()),
    )


def written_rule(rule: PolicyRule) -> Document:
    """As roles and reviews show it; what is empty is left out."""
    fields = {
        "verbs": rule.verbs,
        "apiGroups": rule.groups,
        "resources": rule.resources,
        "resourceNames": rule.names,
        "nonResourceURLs": rule.paths,
    }
    return {field: list(values) for field, values in fields.items() if values}


def single_rules(rule: PolicyRule) -> Iterator[PolicyRule]:
    """The rule taken apart: each part has one verb and one resource, name or path."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for name in rule.names or ("",):
                    yield PolicyRule(
                        verbs=(verb,),
                        groups=(group,),
                        resources=(resource,),
                        names=(name,) if name else (),
                    )
    for path in rule.paths:
        for verb in rule.verbs:
            yield PolicyRule(verbs=(verb,), paths=(path,))


def covers(held: PolicyRule, single: PolicyRule) -> bool:
    """Whether the one rule allows all that the other, of one verb and one resource, allows."""
    return (
        all(_has(held.verbs, verb) for verb in single.verbs)
        and all(_has(held.groups, group) for group in single.groups)
        and all(_covers_resource(held, resource) for resource in single.resources)
        and all(any(covers_path(path, wanted) for path in held.paths) for wanted in single.paths)
        and (not held.names or (bool(single.names) and set(single.names) <= set(held.names)))
    )


def _covers_resource(held: PolicyRule, wanted: str) -> bool:
    if _has(held.resources, wanted):
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in held.resources


def missing_rules(held: Iterable[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """What of the wanted rules the held ones do not cover, taken apart."""
    held = tuple(held)
    return [
        single
        for rule in wanted
        for single in single_rules(rule)
        if not any(covers(each, single) for each in held)
    ]
