"""One entry of the audit log: an Event of `audit.k8s.io/v1`, made where it is written.

Objects that are secret by nature are never part of an entry, whatever the policy says.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.audit.policy import AuditLevel, AuditStage
from plimsoll.apiserver.audit.subject import AuditSubject
from plimsoll.apiserver.http.negotiation import PROTOBUF, YAML
from plimsoll.apiserver.model import protobuf, yaml_text

SECRET = frozenset({("", "secrets", ""), ("authentication.k8s.io", "tokenreviews", "")})
SECRET_SUBRESOURCES = frozenset({"token"})
FAILURE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What is known when it happens; the document is made later, beside the event loop."""

    audit_id: str
    level: AuditLevel
    stage: AuditStage
    subject: AuditSubject
    received: str
    now: str
    code: int = 0
    request_type: str = ""
    request_body: bytes = b""
    response_type: str = ""
    response_body: bytes = b""
    annotations: tuple[tuple[str, str], ...] = ()
    omit_managed_fields: bool = False

    @property
    def size(self) -> int:
        """Of what it holds until it is written."""
        return len(self.request_body) + len(self.response_body)

    def document(self) -> Document:
        subject = self.subject
        event: Document = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": self.level,
            "auditID": self.audit_id,
            "stage": self.stage,
            "requestURI": subject.uri,
            "verb": subject.verb,
            "user": _present(username=subject.user, uid=subject.uid, groups=list(subject.groups)),
            "userAgent": subject.agent,
        }
        if subject.is_resource:
            event["objectRef"] = _reference(subject)
        response = None
        if self.stage is not AuditStage.REQUEST_RECEIVED:
            response = self._object(self.response_type, self.response_body)
            event["responseStatus"] = self._status(response)
        if self._shows_request:
            event["requestObject"] = self._object(self.request_type, self.request_body)
        if self._shows_response and response is not None:
            event["responseObject"] = response
        event["requestReceivedTimestamp"] = self.received
        event["stageTimestamp"] = self.now
        if self.annotations:
            event["annotations"] = dict(self.annotations)
        return event

    @property
    def _shows_request(self) -> bool:
        wanted = self.level in (AuditLevel.REQUEST, AuditLevel.REQUEST_RESPONSE)
        is_over = self.stage is not AuditStage.REQUEST_RECEIVED
        return wanted and is_over and bool(self.request_body) and not is_secret(self.subject)

    @property
    def _shows_response(self) -> bool:
        return self.level is AuditLevel.REQUEST_RESPONSE and not is_secret(self.subject)

    def _status(self, response: Any) -> Document:
        status: Document = {"metadata": {}, "code": self.code}
        if self.code >= FAILURE and isinstance(response, dict) and not is_secret(self.subject):
            told = {key: response.get(key) for key in ("status", "reason", "message")}
            status |= {key: value for key, value in told.items() if value}
        return status

    def _object(self, media_type: str, body: bytes) -> Any:
        """None for what is no object: the body of a refused request may be anything."""
        try:
            document = _decoded(media_type, body)
        except (ValueError, RecursionError):
            return None
        if self.omit_managed_fields and isinstance(document, dict):
            for one in (document, *(document.get("items") or ())):
                if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
                    one["metadata"].pop("managedFields", None)
        return document


def is_secret(subject: AuditSubject) -> bool:
    return (
        subject.subresource in SECRET_SUBRESOURCES
        or (subject.group, subject.resource, subject.subresource) in SECRET
    )


def _decoded(media_type: str, body: bytes) -> Any:
    if not body:
        return None
    if media_type == PROTOBUF:
        return protobuf.decode(body)
    if media_type == YAML or media_type.endswith("+yaml"):
        return yaml_text.read(body)
    return msgspec.json.decode(body)


def _present(**fields: object) -> Document:
    return {name: value for name, value in fields.items() if value}


def _reference(subject: AuditSubject) -> Document:
    return _present(
        resource=subject.resource,
        namespace=subject.namespace,
        name=subject.name,
        apiGroup=subject.group,
        apiVersion=subject.version,
        subresource=subject.subresource,
    )
