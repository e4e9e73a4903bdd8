"""AdmissionReview: the question that a webhook is asked, and what its answer means."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

import msgspec

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.access.users import User, user_info
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.webhooks.configuration import Webhook, is_deletion
from plimsoll.apiserver.model.custom import scale as custom_scale
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.kinds.workloads.scale import scale_of, scaled

GROUP = "admission.k8s.io"
STRICT = "v1"
"""The version whose answers are checked; that before it takes them as they come."""
LONGEST_WARNING = 256
OPTIONS = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}

SUBRESOURCE_KINDS = {
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
"""Group, version and kind of what is written through subresources that are no part of an object."""


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


def written_kind(attributes: Attributes, seen: str = "") -> tuple[str, str, str]:
    """Group, version and kind of what the client writes; in another version, if one is given."""
    resource = attributes.resource
    own = (resource.group, seen or resource.version, resource.kind)
    return SUBRESOURCE_KINDS.get(attributes.subresource, own)


def shown(attributes: Attributes, document: Document | None, seen: str) -> Document | None:
    """With its kind: a webhook reads it without knowing what it was asked about."""
    if document is None:
        return None
    if attributes.subresource == "scale":
        return written_scale(attributes.resource, document)
    group, version, kind = written_kind(attributes, seen)
    return document | {"kind": kind, "apiVersion": f"{group}/{version}" if group else version}


def written_scale(resource: Resource, document: Document) -> Document:
    """What a client sees of an object that it scales."""
    if isinstance(resource, CustomResource) and resource.served.scale is not None:
        return custom_scale.scale_of(resource.served.scale, document)
    return scale_of(document)


def question(attributes: Attributes, seen: str) -> Document:
    """The request of a review without its uid, with the object in the version that is `seen`."""
    deletes = is_deletion(attributes)
    asked: Document = {
        "kind": _kind(attributes, seen),
        "resource": _resource(attributes, seen),
        "requestKind": _kind(attributes, attributes.resource.version),
        "requestResource": _resource(attributes, attributes.resource.version),
        "name": attributes.name,
        "namespace": attributes.told_namespace,
        "operation": str(attributes.operation),
        "userInfo": _user_info(attributes),
        "object": None if deletes else shown(attributes, attributes.document, seen),
        "oldObject": shown(attributes, attributes.document if deletes else attributes.old, seen),
        "dryRun": attributes.dry_run,
        "options": options_told(attributes),
    }
    if attributes.subresource:
        asked["subResource"] = asked["requestSubResource"] = attributes.subresource
    return asked


def rescaled(resource: Resource, document: Document, scale: Document) -> Document:
    """The object with as many replicas as the scale says. Raises ApiError."""
    if isinstance(resource, CustomResource) and resource.served.scale is not None:
        return custom_scale.scaled(resource.served.scale, document, scale)
    return scaled(document, scale)


def options_told(attributes: Attributes) -> Document:
    """The options of the request, as webhooks and policies see them."""
    head = {"kind": OPTIONS[attributes.operation], "apiVersion": "meta.k8s.io/v1"}
    return head | attributes.options | ({"dryRun": ["All"]} if attributes.dry_run else {})


def _kind(attributes: Attributes, version: str) -> Document:
    group, version, kind = written_kind(attributes, version)
    return {"group": group, "version": version, "kind": kind}


def _resource(attributes: Attributes, version: str) -> Document:
    resource = attributes.resource
    return {"group": resource.group, "version": version, "resource": resource.plural}


def _user_info(attributes: Attributes) -> Document:
    if isinstance(attributes.requester, User):
        return user_info(attributes.requester)
    return {"username": attributes.user, "groups": list(attributes.groups)}


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
