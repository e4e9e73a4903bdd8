"""The rules of one role, found by what is asked for.

A role may have ten thousand rules, and most questions concern one of them. A rule is parsed when a
question first comes to it: who writes large roles pays for that, and no other user.
"""

from collections.abc import Iterable, Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.rbac.rules import ALL, PolicyRule, parse_rule


class RoleRules:
    def __init__(self, role: Document) -> None:
        self._written: list[Document] = role.get("rules") or []
        self._parsed: dict[int, tuple[PolicyRule, frozenset[str]]] = {}
        self._by_resource: dict[str, list[int]] = {}
        self._with_paths: list[int] = []
        for position, rule in enumerate(self._written):
            for resource in rule.get("resources") or ():
                self._by_resource.setdefault(resource, []).append(position)
            if rule.get("nonResourceURLs"):
                self._with_paths.append(position)

    def __iter__(self) -> Iterator[PolicyRule]:
        return (self._at(position)[0] for position in range(len(self._written)))

    def allowing(self, asked: AccessAttributes) -> Iterator[PolicyRule]:
        """Those that allow it, in the order of the role."""
        return (rule for rule, _ in self._concerning(asked) if rule.allows(asked))

    def names(self, asked: AccessAttributes) -> Iterator[frozenset[str]]:
        """Of each rule that allows it for some name: the names; none where it is for all."""
        return (names for _, names in self._concerning(asked))

    def _concerning(self, asked: AccessAttributes) -> Iterator[tuple[PolicyRule, frozenset[str]]]:
        for position in self._candidates(asked):
            found = self._at(position)
            if found[0].concerns(asked):
                yield found

    def _candidates(self, asked: AccessAttributes) -> Iterable[int]:
        if asked.path is not None:
            return self._with_paths
        resources = {asked.full_resource, ALL}
        if asked.subresource:
            resources.add(f"*/{asked.subresource}")
        found = [self._by_resource[name] for name in resources if name in self._by_resource]
        if len(found) == 1:
            return found[0]
        return sorted({position for positions in found for position in positions})

    def _at(self, position: int) -> tuple[PolicyRule, frozenset[str]]:
        found = self._parsed.get(position)
        if found is None:
            rule = parse_rule(self._written[position])
            found = self._parsed[position] = rule, frozenset(rule.names)
        return found
