"""The audit policy: how much of which request is written down. Pure.

The first rule that fits a request decides its level. Kubernetes' words and files; what this server
does not know is refused, because a rule that is not understood would hide what it should show.
"""

from enum import StrEnum

import msgspec
import yaml

from plimsoll.apiserver.audit.subject import AuditSubject


class AuditLevel(StrEnum):
    NONE = "None"
    METADATA = "Metadata"
    REQUEST = "Request"
    REQUEST_RESPONSE = "RequestResponse"


class AuditStage(StrEnum):
    REQUEST_RECEIVED = "RequestReceived"
    RESPONSE_STARTED = "ResponseStarted"
    RESPONSE_COMPLETE = "ResponseComplete"
    PANIC = "Panic"


class _Known(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A field that is not known is an error."""


class GroupResources(_Known, frozen=True, kw_only=True):
    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()


class AuditRule(_Known, frozen=True, kw_only=True):
    level: AuditLevel
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    """The empty name stands for what is in none."""
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[AuditStage, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, subject: AuditSubject) -> bool:
        return (
            (not self.users or subject.user in self.users)
            and (not self.user_groups or not set(self.user_groups).isdisjoint(subject.groups))
            and (not self.verbs or subject.verb in self.verbs or "*" in self.verbs)
            and self._place_matches(subject)
        )

    def _place_matches(self, subject: AuditSubject) -> bool:
        if not (self.namespaces or self.resources or self.non_resource_urls):
            return True
        if not subject.is_resource:
            return any(_url_matches(url, subject.path) for url in self.non_resource_urls)
        if not (self.namespaces or self.resources):
            return False
        if self.namespaces and subject.namespace not in self.namespaces:
            return False
        return not self.resources or any(_is_among(subject, one) for one in self.resources)


def _url_matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _is_among(subject: AuditSubject, named: GroupResources) -> bool:
    if named.group != subject.group:
        return False
    if named.resource_names and subject.name not in named.resource_names:
        return False
    combined = f"{subject.resource}/{subject.subresource}".removesuffix("/")
    return not named.resources or any(
        pattern in ("*", combined)
        or (bool(subject.subresource) and pattern == f"*/{subject.subresource}")
        or pattern == f"{subject.resource}/*"
        for pattern in named.resources
    )


class AuditPolicy(_Known, frozen=True, kw_only=True):
    api_version: str
    kind: str
    metadata: dict[str, object] = msgspec.field(default_factory=dict)
    rules: tuple[AuditRule, ...]
    omit_stages: tuple[AuditStage, ...] = ()
    omit_managed_fields: bool = False

    def rule_for(self, subject: AuditSubject) -> AuditRule | None:
        """None when nothing is to be written of the request."""
        found = next((rule for rule in self.rules if rule.matches(subject)), None)
        return None if found is None or found.level is AuditLevel.NONE else found


def parse_policy(text: str) -> AuditPolicy:
    """Raises ValueError, with what is wrong and where."""
    try:
        policy = msgspec.convert(yaml.safe_load(text), AuditPolicy)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ValueError(f"the audit policy cannot be read: {error}") from error
    if (policy.api_version, policy.kind) != ("audit.k8s.io/v1", "Policy"):
        raise ValueError("the audit policy must be of kind Policy in version audit.k8s.io/v1")
    if not policy.rules:
        raise ValueError("the audit policy has no rules: nothing would be written")
    return policy
