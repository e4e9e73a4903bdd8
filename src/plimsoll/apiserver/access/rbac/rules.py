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


class HeldRules:
    """What a user holds, arranged so that each part of a wanted rule meets few of the rules."""

    def __init__(self, held: Iterable[PolicyRule]) -> None:
        self._by_resource: dict[str, list[PolicyRule]] = {}
        self._with_paths: list[PolicyRule] = []
        for rule in dict.fromkeys(held):
            for resource in dict.fromkeys(rule.resources):
                self._by_resource.setdefault(resource, []).append(rule)
            if rule.paths:
                self._with_paths.append(rule)
        self._names: dict[tuple[str, ...], frozenset[str] | None] = {}

    def effort(self, wanted: Iterable[PolicyRule]) -> int:
        """How many comparisons it takes at most to tell what is missing."""
        return sum(
            len(rule.verbs) * len(rule.groups) * sum(map(self._size, rule.resources))
            + len(rule.verbs) * len(rule.paths) * sum(len(each.paths) for each in self._with_paths)
            for rule in wanted
        )

    def _size(self, resource: str) -> int:
        return sum(
            len(rule.verbs) + len(rule.groups) + len(rule.names) for rule in self._about(resource)
        )

    def _about(self, resource: str) -> Iterator[PolicyRule]:
        _, slash, subresource = resource.partition("/")
        about = dict.fromkeys((resource, ALL, f"*/{subresource}" if slash else ALL))
        for name in about:
            yield from self._by_resource.get(name, ())

    def missing(self, wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
        """What of the wanted rules is not held, taken apart."""
        return [
            single
            for rule in wanted
            for single in single_rules(rule)
            if not (self._has_path(single) if single.paths else self._has(single))
        ]

    def _has(self, single: PolicyRule) -> bool:
        names = self._allowed_names(*single.verbs, *single.groups, *single.resources)
        return names is None or (bool(single.names) and names.issuperset(single.names))

    def _allowed_names(self, verb: str, group: str, resource: str) -> frozenset[str] | None:
        """Of the objects for which the verb is held; None: of all."""
        asked = (verb, group, resource)
        if asked not in self._names:
            found = [
                rule
                for rule in self._about(resource)
                if _has(rule.verbs, verb) and _has(rule.groups, group)
            ]
            everything = any(not rule.names for rule in found)
            named = frozenset(name for rule in found for name in rule.names)
            self._names[asked] = None if everything else named
        return self._names[asked]

    def _has_path(self, single: PolicyRule) -> bool:
        [verb], [wanted] = single.verbs, single.paths
        return any(
            _has(rule.verbs, verb) and any(covers_path(path, wanted) for path in rule.paths)
            for rule in self._with_paths
        )
