"""Which webhooks a write has to pass: rules, scopes and selectors of the stored configurations."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.apiserver.access.users import SERVER
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.kinds.access.admission_configuration import REVIEW_VERSIONS

GROUP = "admissionregistration.k8s.io"
MUTATING = "mutatingwebhookconfigurations"
VALIDATING = "validatingwebhookconfigurations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    configuration: str
    """The name of the object that it stands in."""
    name: str
    client: Document
    """How to reach it: `clientConfig`."""
    fails_closed: bool
    seconds: int
    reinvoked: bool
    review_version: str
    """Of the AdmissionReview that it is asked with: the first of its list that there is."""

    @property
    def full_name(self) -> str:
        return f"{self.configuration}/{self.name}"


def matching(attributes: Attributes, plural: str) -> Iterator[Webhook]:
    """In the order of the configurations' names, and in each as it is written there."""
    if attributes.resource.group == GROUP:
        return  # no webhook can keep itself from being mended
    # The server itself, not a user of its name.
    if attributes.requester is SERVER:
        return  # what the server keeps is there whether webhooks run or not
    for configuration in attributes.reader.list(GROUP, plural):
        for webhook in configuration.get("webhooks") or ():
            if _is_concerned(webhook, attributes):
                yield _webhook(configuration["metadata"]["name"], webhook)


def _webhook(configuration: str, webhook: Document) -> Webhook:
    return Webhook(
        configuration=configuration,
        name=webhook["name"],
        client=webhook["clientConfig"],
        fails_closed=webhook.get("failurePolicy") != "Ignore",
        seconds=webhook.get("timeoutSeconds", 10),
        reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
        review_version=next(
            version for version in webhook["admissionReviewVersions"] if version in REVIEW_VERSIONS
        ),
    )


def _is_concerned(webhook: Document, attributes: Attributes) -> bool:
    return (
        any(_rule_matches(rule, attributes) for rule in webhook.get("rules") or ())
        and _namespace_matches(webhook.get("namespaceSelector"), attributes)
        and _object_matches(webhook.get("objectSelector"), attributes)
    )


def _rule_matches(rule: Document, attributes: Attributes) -> bool:
    resource = attributes.resource
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and _scope_matches(rule.get("scope", "*"), attributes)
        and any(_resource_matches(name, attributes) for name in rule.get("resources") or ())
    )


def _has(wanted: list[str] | None, value: str) -> bool:
    return wanted is not None and ("*" in wanted or value in wanted)


def _scope_matches(scope: str, attributes: Attributes) -> bool:
    return scope == "*" or (scope == "Namespaced") == attributes.resource.namespaced


def _resource_matches(pattern: str, attributes: Attributes) -> bool:
    """`pods`, `pods/status`, `pods/*`, `*/status`, `*` or `*/*`."""
    resource, _, subresource = pattern.partition("/")
    if resource not in ("*", attributes.resource.plural):
        return False
    return subresource in ("*", attributes.subresource)


def _namespace_matches(selector: Document | None, attributes: Attributes) -> bool:
    """Objects outside of namespaces are not asked for theirs; a namespace is asked for its own."""
    if not selector:
        return True
    if attributes.resource.plural == "namespaces" and not attributes.resource.group:
        return any(_selects(selector, labels) for labels in _labels(attributes))
    if not attributes.namespace:
        return True
    namespace = attributes.reader.get("", "namespaces", "", attributes.namespace) or {}
    return _selects(selector, (namespace.get("metadata") or {}).get("labels") or {})


def _object_matches(selector: Document | None, attributes: Attributes) -> bool:
    """The object as it is to be, or as it was."""
    return not selector or any(_selects(selector, labels) for labels in _labels(attributes))


def _labels(attributes: Attributes) -> Iterator[dict[str, str]]:
    for document in (attributes.document, attributes.old):
        if document is not None:
            yield document["metadata"].get("labels") or {}


def _selects(selector: Document, labels: dict[str, str]) -> bool:
    spec = msgspec.convert(selector, LabelSelectorSpec)
    return LabelSelector.of(spec).matches(labels)


def is_deletion(attributes: Attributes) -> bool:
    return attributes.operation is Operation.DELETE
