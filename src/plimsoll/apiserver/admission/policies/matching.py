"""Which requests a policy, a binding of one, or a webhook is about."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import msgspec

from plimsoll.api.registry import Document, Resource
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.apiserver.admission.attributes import Attributes

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedVersion:
    """The version of the resource that a rule names, which need not be that of the request.

    The object is shown in it.
    """

    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMatch:
    rules: tuple[Document, ...]
    excluded: tuple[Document, ...]
    is_exact: bool
    namespaces: LabelSelector | None
    """None: all."""
    objects: LabelSelector | None

    @classmethod
    def of(cls, match: Document) -> Self:
        return cls(
            rules=tuple(match.get("resourceRules") or ()),
            excluded=tuple(match.get("excludeResourceRules") or ()),
            is_exact=match.get("matchPolicy") == "Exact",
            namespaces=_selector(match.get("namespaceSelector")),
            objects=_selector(match.get("objectSelector")),
        )

    def find(self, attributes: Attributes) -> MatchedVersion | None:
        """In which version the request is one of these; None: it is not."""
        if not self._namespace_matches(attributes) or not self._object_matches(attributes):
            return None
        if self._by_rules(self.excluded, attributes) is not None:
            return None
        if not self.rules:
            return MatchedVersion(version=attributes.resource.version)
        return self._by_rules(self.rules, attributes)

    def _by_rules(
        self, rules: tuple[Document, ...], attributes: Attributes
    ) -> MatchedVersion | None:
        concerned = [rule for rule in rules if _concerns(rule, attributes)]
        if not concerned:
            return None
        own = attributes.resource.version
        others = () if self.is_exact else _other_versions(attributes)
        for version in (own, *others):
            if any(_has(rule.get("apiVersions"), version) for rule in concerned):
                return MatchedVersion(version=version)
        return None

    def _namespace_matches(self, attributes: Attributes) -> bool:
        """Objects outside of namespaces are not asked for theirs; a namespace for its own."""
        if self.namespaces is None:
            return True
        if _is_namespace(attributes.resource):
            labels = attributes.document["metadata"].get("labels") or {}
            return self.namespaces.matches(labels)
        if not attributes.namespace:
            return True
        stored = attributes.reader.get("", "namespaces", "", attributes.namespace) or {}
        return self.namespaces.matches((stored.get("metadata") or {}).get("labels") or {})

    def _object_matches(self, attributes: Attributes) -> bool:
        """The object as it is to be, or as it was."""
        return self.objects is None or any(
            self.objects.matches(document["metadata"].get("labels") or {})
            for document in (attributes.document, attributes.old)
            if document is not None
        )


def _selector(selector: Document | None) -> LabelSelector | None:
    if not selector:
        return None
    return LabelSelector.of(msgspec.convert(selector, LabelSelectorSpec))


def _is_namespace(resource: Resource) -> bool:
    return resource.plural == "namespaces" and not resource.group


def _concerns(rule: Document, attributes: Attributes) -> bool:
    """All but the version."""
    resource, names = attributes.resource, rule.get("resourceNames")
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _scope_matches(rule.get("scope", "*"), resource)
        and any(_resource_matches(name, attributes) for name in rule.get("resources") or ())
        and (not names or attributes.name in names)
    )


def _has(wanted: list[str] | None, value: str) -> bool:
    return wanted is not None and ("*" in wanted or value in wanted)


def _scope_matches(scope: str, resource: Resource) -> bool:
    return scope == "*" or (scope == "Namespaced") == resource.namespaced


def _resource_matches(pattern: str, attributes: Attributes) -> bool:
    """`pods`, `pods/status`, `pods/*`, `*/status`, `*` or `*/*`."""
    resource, _, subresource = pattern.partition("/")
    if resource not in ("*", attributes.resource.plural):
        return False
    return subresource in ("*", attributes.subresource)


def _other_versions(attributes: Attributes) -> Iterator[str]:
    """The other versions in which a custom resource is served; all else has one here."""
    resource = attributes.resource
    if "." not in resource.group:
        return
    name = f"{resource.plural}.{resource.group}"
    definition = attributes.reader.get(*DEFINITIONS, "", name)
    for version in ((definition or {}).get("spec") or {}).get("versions") or ():
        if version.get("served") and version.get("name") != resource.version:
            yield version["name"]
