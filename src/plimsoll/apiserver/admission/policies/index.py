"""Policies with their bindings, and webhooks: read once for each version that is stored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Reader, StoredVersion
from plimsoll.apiserver.admission.policies.matching import RequestMatch
from plimsoll.apiserver.model.policies.compiled import PolicyRuleSet, compiled_rules
from plimsoll.apiserver.model.policies.kinds import GROUP

POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"

T = TypeVar("T")
Spend = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyBinding:
    name: str
    policy: str
    actions: tuple[str, ...]
    match: RequestMatch | None
    param: Document | None
    """`paramRef`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    name: str
    fails_closed: bool
    match: RequestMatch
    param_kind: Document | None
    rules: PolicyRuleSet


class PolicyIndex:
    """What was read, and compiled, stays until another version is stored."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[StoredVersion, Any]] = {}

    def bound(
        self, reader: Reader, spend: Spend
    ) -> Iterator[tuple[AdmissionPolicy, list[PolicyBinding]]]:
        """All policies that have bindings, by name. `spend` is told of work before it is done."""
        by_policy: dict[str, list[PolicyBinding]] = {}
        for binding in self.all(reader, BINDINGS, _binding, spend):
            by_policy.setdefault(binding.policy, []).append(binding)
        if by_policy:
            for policy in self.all(reader, POLICIES, _policy, spend):
                if policy.name in by_policy:
                    yield policy, by_policy[policy.name]

    def all(
        self, reader: Reader, plural: str, make: Callable[[Document], T], spend: Spend
    ) -> list[T]:
        """What `make` makes of each object of the group, in the order of their names."""
        found: list[T] = []
        seen: set[tuple[str, str]] = set()
        for key, version in reader.versions(GROUP, plural):
            place = (plural, key)
            seen.add(place)
            known = self._known.get(place)
            if known is None or known[0] is not version:
                spend(len(version.raw))
                known = self._known[place] = (version, make(version.document()))
            found.append(known[1])
        gone = [place for place in list(self._known) if place[0] == plural and place not in seen]
        for place in gone:
            self._known.pop(place, None)
        return found


def _policy(document: Document) -> AdmissionPolicy:
    spec = document.get("spec") or {}
    return AdmissionPolicy(
        name=document["metadata"]["name"],
        fails_closed=spec.get("failurePolicy") != "Ignore",
        match=RequestMatch.of(spec.get("matchConstraints") or {}),
        param_kind=spec.get("paramKind"),
        rules=compiled_rules(spec),
    )


def _binding(document: Document) -> PolicyBinding:
    spec = document.get("spec") or {}
    match = spec.get("matchResources")
    return PolicyBinding(
        name=document["metadata"]["name"],
        policy=spec.get("policyName", ""),
        actions=tuple(spec.get("validationActions") or ()),
        match=None if match is None else RequestMatch.of(match),
        param=spec.get("paramRef"),
    )
