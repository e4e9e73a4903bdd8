"""What admits writes: webhooks, which are called, and policies that change objects: refused.

The server runs no MutatingAdmissionPolicy, and never stores a rule that it would not enforce.
Policies that validate are in `model.policies`.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from plimsoll.api.names import name_is_dns_subdomain
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.plain_kinds import RULES_BY_KIND
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors
from plimsoll.apiserver.model.policies.compiled import PolicyCompiler
from plimsoll.apiserver.model.policies.kinds import condition_errors

GROUP = "admissionregistration.k8s.io"
REVIEW_VERSIONS = ("v1", "v1beta1")
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
SCOPES = ("*", "Cluster", "Namespaced")
NO_CEL = "this server does not evaluate CEL expressions here, and stores none that it would ignore"
SHORTEST_NAME = 3
"""Labels of a webhook's name: it has to be in a domain."""
LONGEST_SECONDS = 30


def validate_webhooks(configuration: Document) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        name = webhook.get("name", "")
        yield from _name_errors(name, f"{path}.name")
        if name in names:
            yield FieldError.duplicate(f"{path}.name", name)
        names.add(name)
        yield from _choice_errors(webhook, path)
        yield from _client_errors(webhook.get("clientConfig") or {}, f"{path}.clientConfig")
        for place, rule in enumerate(webhook.get("rules") or ()):
            yield from _rule_errors(rule, f"{path}.rules[{place}]")
        for selector in ("namespaceSelector", "objectSelector"):
            yield from label_selector_errors(webhook.get(selector) or {}, f"{path}.{selector}")
        conditions, known = webhook.get("matchConditions") or [], PolicyCompiler({})
        yield from condition_errors(conditions, known, f"{path}.matchConditions")


def validate_webhooks_update(new: Document, _old: Document) -> Iterator[FieldError]:
    yield from validate_webhooks(new)


def _name_errors(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield FieldError.required(path)
        return
    for error in name_is_dns_subdomain(name, False):
        yield FieldError.invalid(path, name, error)
    if name.count(".") < SHORTEST_NAME - 1:
        yield FieldError.invalid(
            path, name, "should be a domain with at least three segments separated by dots"
        )


def _choice_errors(webhook: Document, path: str) -> Iterator[FieldError]:
    for field, known in (
        ("failurePolicy", ("Fail", "Ignore")),
        ("matchPolicy", ("Equivalent", "Exact")),
        ("sideEffects", ("None", "NoneOnDryRun")),
        ("reinvocationPolicy", ("IfNeeded", "Never")),
    ):
        given = webhook.get(field)
        if given is None and field == "sideEffects":
            yield FieldError.required(
                f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"
            )
        elif given is not None and given not in known:
            yield FieldError.not_supported(f"{path}.{field}", given, known)
    seconds = webhook.get("timeoutSeconds", 1)
    if not 0 < seconds <= LONGEST_SECONDS:
        yield FieldError.invalid(
            f"{path}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds"
        )
    versions = webhook.get("admissionReviewVersions") or []
    yield from _version_errors(versions, f"{path}.admissionReviewVersions")


def _version_errors(versions: list[str], path: str) -> Iterator[FieldError]:
    known = ", ".join(REVIEW_VERSIONS)
    if not versions:
        yield FieldError.required(path, f"must specify one of {known}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield FieldError.invalid(f"{path}[{index}]", version, "duplicate version")
        seen.add(version)
    if not set(versions) & set(REVIEW_VERSIONS):
        yield FieldError.invalid(path, versions, f"must include at least one of {known}")


def _client_errors(client: Document, path: str) -> Iterator[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield FieldError.required(path, "exactly one of url or service is required")
    if url is not None:
        yield from _url_errors(url, f"{path}.url")
    if service is not None:
        for field in ("name", "namespace"):
            if not service.get(field):
                yield FieldError.required(f"{path}.service.{field}")
    try:
        base64.b64decode(client.get("caBundle") or "", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        yield FieldError.invalid(f"{path}.caBundle", "", "must be certificates in PEM")


def _url_errors(url: str, path: str) -> Iterator[FieldError]:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        yield FieldError.invalid(path, url, f"url must be a valid URL: {error}")
        return
    if parts.scheme != "https":
        yield FieldError.invalid(path, url, "'https' is the only allowed URL scheme")
    if not host:
        yield FieldError.invalid(path, url, "host must be specified")
    if parts.username or parts.password or "@" in parts.netloc:
        yield FieldError.invalid(path, "", "user information is not permitted in the URL")
    if parts.query or parts.fragment:
        yield FieldError.invalid(path, url, "queries and fragments are not permitted in the URL")


def _rule_errors(rule: Document, path: str) -> Iterator[FieldError]:
    for field in ("operations", "apiGroups", "apiVersions", "resources"):
        values = rule.get(field) or []
        if not values:
            yield FieldError.required(f"{path}.{field}")
        if "*" in values and len(values) > 1 and field != "resources":
            yield FieldError.invalid(
                f"{path}.{field}", values, "if '*' is present, must not specify other values"
            )
    for index, operation in enumerate(rule.get("operations") or ()):
        if operation not in OPERATIONS:
            yield FieldError.not_supported(f"{path}.operations[{index}]", operation, OPERATIONS)
    if rule.get("scope", "*") not in SCOPES:
        yield FieldError.not_supported(f"{path}.scope", rule["scope"], SCOPES)


def refuse_policy(policy: Document) -> Iterator[FieldError]:
    """By name, whatever it says: a policy that is not enforced is worse than none."""
    yield FieldError.forbidden("spec", f"{policy.get('kind', '')} is not supported: {NO_CEL}")


def _checked(kind: str) -> KindRules:
    plain = RULES_BY_KIND[GROUP, kind]
    if kind.endswith("WebhookConfiguration"):
        return replace(plain, validate=validate_webhooks, validate_update=validate_webhooks_update)
    return replace(plain, validate=refuse_policy)


RULES = {
    (GROUP, kind): _checked(kind)
    for group, kind in RULES_BY_KIND
    if group == GROUP and not kind.startswith("ValidatingAdmissionPolicy")
}
"""By (group, kind)."""
