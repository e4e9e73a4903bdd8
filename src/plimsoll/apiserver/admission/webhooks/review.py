"""AdmissionReview: the question that a webhook is asked, and what its answer means."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.webhooks.configuration import Webhook, is_deletion

GROUP = "admission.k8s.io"
STRICT = "v1"
"""The version whose answers are checked; that before it takes them as they come."""
LONGEST_WARNING = 256
OPTIONS = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}


class BadAnswerError(ValueError):
    """The webhook answered, but not with what an AdmissionReview may say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookVerdict:
    """What a webhook has decided."""

    allowed: bool
    status: Document
    patch: list[Document]
    warnings: tuple[str, ...] = ()
    audit_annotations: dict[str, str]


def question(attributes: Attributes) -> Document:
    """The request of a review without its uid."""
    resource = attributes.resource
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    place = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    deletes = is_deletion(attributes)
    options = {"kind": OPTIONS[attributes.operation], "apiVersion": "meta.k8s.io/v1"}
    asked: Document = {
        "kind": kind,
        "resource": place,
        "requestKind": kind,
        "requestResource": place,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": str(attributes.operation),
        "userInfo": {"username": attributes.user, "groups": list(attributes.groups)},
        "object": None if deletes else attributes.document,
        "oldObject": attributes.document if deletes else attributes.old,
        "dryRun": attributes.dry_run,
        "options": options | ({"dryRun": ["All"]} if attributes.dry_run else {}),
    }
    if attributes.subresource:
        asked["subResource"] = asked["requestSubResource"] = attributes.subresource
    return asked


def digest(webhook: Webhook, asked: Document) -> str:
    """The same for the same question: what differs each time that it is decided does not count."""
    plain = {key: _timeless(value) for key, value in asked.items()}
    written = msgspec.json.encode(plain, order="sorted")
    return f"{webhook.full_name} {hashlib.sha256(written).hexdigest()}"


def _timeless(value: object) -> object:
    if not (isinstance(value, dict) and isinstance(value.get("metadata"), dict)):
        return value
    left_out = ("creationTimestamp", "managedFields")
    meta = {name: held for name, held in value["metadata"].items() if name not in left_out}
    return value | {"metadata": meta}


def review(asked: Document, uid: str, version: str) -> bytes:
    """The body that the webhook gets."""
    request = {"uid": uid} | asked
    return msgspec.json.encode(
        {"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{version}", "request": request}
    )


def read_verdict(body: bytes, uid: str, version: str) -> WebhookVerdict:
    """Of an answer to a review of the version. Raises BadAnswerError."""
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise BadAnswerError(f"the answer is not JSON: {error}") from None
    response = answer.get("response") if isinstance(answer, dict) else None
    if not isinstance(response, dict):
        raise BadAnswerError("the answer is no AdmissionReview with a response")
    if version == STRICT:
        _check(answer, response, uid)
    elif response.get("patch"):
        response = response | {"patchType": "JSONPatch"}
    return _verdict(response)


def _check(answer: Document, response: Document, uid: str) -> None:
    if answer.get("kind") != "AdmissionReview" or answer.get("apiVersion") != f"{GROUP}/{STRICT}":
        raise BadAnswerError(f"the answer is no AdmissionReview of version {GROUP}/{STRICT}")
    if response.get("uid") != uid:
        raise BadAnswerError("the answer has no response with the uid of the request")


def _verdict(response: Document) -> WebhookVerdict:
    warnings, notes = response.get("warnings") or [], response.get("auditAnnotations") or {}
    if not isinstance(warnings, list) or not isinstance(notes, dict):
        raise BadAnswerError("the answer's warnings or audit annotations are of a wrong type")
    status = response.get("status")
    return WebhookVerdict(
        allowed=response.get("allowed") is True,
        status=status if isinstance(status, dict) else {},
        patch=_patch(response),
        warnings=tuple(str(text)[:LONGEST_WARNING] for text in warnings),
        audit_annotations={str(key): str(value) for key, value in notes.items()},
    )


def _patch(response: Document) -> list[Document]:
    if not response.get("patch"):
        return []
    if response.get("patchType") != "JSONPatch":
        raise BadAnswerError('a patch needs the patchType "JSONPatch"')
    try:
        patch = msgspec.json.decode(base64.b64decode(response["patch"], validate=True))
    except (TypeError, ValueError, binascii.Error, RecursionError) as error:
        raise BadAnswerError(f"the patch cannot be read: {error}") from None
    if not isinstance(patch, list):
        raise BadAnswerError("the patch is no list of operations")
    return patch
