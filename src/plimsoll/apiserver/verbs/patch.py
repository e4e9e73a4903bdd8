"""PATCH: JSON, merge and strategic merge patches; an apply patch goes to `apply`.

The patched document is read as its kind again. What cannot be read is refused as a patch that is
invalid (422), because the request itself is well formed.
"""

from collections.abc import Callable, Set as AbstractSet

from plimsoll.api.patch import merge_patch
from plimsoll.api.patch.errors import PatchError
from plimsoll.api.registry import Document
from plimsoll.apiserver.http.negotiation import body_type, decode_json, unsupported
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.kinds.cluster import lease_renewal
from plimsoll.apiserver.model.patch import json_patch, strategic
from plimsoll.apiserver.model.status import ApiError, bad_request
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.verbs.apply import answer_apply
from plimsoll.apiserver.verbs.options.write_options import (
    APPLY,
    FieldValidation,
    RequestWriteOptions,
    patch_complaint,
    patch_refusal,
)
from plimsoll.apiserver.verbs.update import renew, update
from plimsoll.apiserver.verbs.verb import check_part
from plimsoll.apiserver.verbs.write import (
    UnreadableError,
    Write,
    check_place,
    newest,
    shown,
    typed,
)
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest
from plimsoll.wire.transport import Request

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY)
CUSTOM_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY)


def answer_patch(request: WriteRequest) -> AnswerWhenDurable:
    """Answers with the patched object."""
    write = patch_write(request)
    if is_apply(request):
        return answer_apply(request, write)
    if body_type(request.request) == MERGE_PATCH:
        renewed = renew(write, request, lease_renewal.renewed_by_patch)
        if renewed is not None:
            return request.shown(renewed, write.options)
    check_part(request.target)
    change = RequestPatch(request.request, request.kind, write.options)
    return request.shown(patch(write, change), write.options)


def patch_write(request: WriteRequest) -> Write:
    """The write with its options. Raises 415 for patches that the kind does not take."""
    media_type = body_type(request.request)
    taken = CUSTOM_PATCH_TYPES if request.kind.rules.is_custom else PATCH_TYPES
    if media_type not in taken:
        raise unsupported(media_type, taken)
    return request.write("PatchOptions")


def is_apply(request: WriteRequest) -> bool:
    return body_type(request.request) == APPLY


def patch(write: Write, change: Callable[[Document], Document]) -> StoredRecord:
    """`change` makes the wanted document from the current one, as the resource shows it."""
    old = newest(write)
    new = change(shown(write.kind, old))
    check_place(write, new["metadata"])
    return update(write, new, old, patched=True)


class RequestPatch:
    """The body of one request, to be applied to the current document of a kind."""

    def __init__(self, request: Request, kind: ResourceKind, options: RequestWriteOptions) -> None:
        self._raw = request.body
        self._type = body_type(request)
        self._body = decode_json(request.body)
        self._kind = kind
        self._options = options

    def __call__(self, current: Document) -> Document:
        """The patched document, typed and with its defaults. Raises ApiError.

        `current` is a copy for this patch alone, which may change it.
        """
        known = current.keys() - self._touched(current)
        patched = self._patched(current)
        complaints = self._complaints()
        self._check_type(patched, complaints)
        try:
            document = typed(self._kind, patched, complaints=complaints, kept=known)
        except UnreadableError as error:
            raise patch_refusal(str(error)) from error
        self._complain(complaints)
        return document

    def _touched(self, current: Document) -> AbstractSet[str]:
        """The members of the document that the patch may change, or that are not as stored."""
        is_merged = self._type != JSON_PATCH and isinstance(self._body, dict)
        if not is_merged or self._kind.is_view or any(name[:1] == "$" for name in self._body):
            return current.keys()
        return frozenset(self._body)

    def _patched(self, current: Document) -> Document:
        try:
            match self._type:
                case "application/json-patch+json":
                    patched = json_patch.apply(current, self._body)
                case "application/merge-patch+json":
                    patched = merge_patch.merge_into(current, self._body)
                case _:
                    patched = strategic.merge_into(current, self._body, self._kind.schema)
        except PatchError as error:
            details: Document | None = {} if error.reason == "Invalid" else None
            raise ApiError(error.code, error.reason, error.message, details) from error
        if not isinstance(patched, dict):
            raise bad_request("the patched document is not an object")
        return patched

    def _complaints(self) -> list[str]:
        if self._type == JSON_PATCH:
            return json_patch.unknown_fields(self._body)
        return schema.duplicate_fields(self._raw, self._kind.schema)

    def _complain(self, complaints: list[str]) -> None:
        if complaints and self._options.field_validation is FieldValidation.STRICT:
            raise patch_complaint(complaints)
        self._options.complain(complaints)

    def _check_type(self, patched: Document, complaints: list[str]) -> None:
        """No patch makes an object one of another kind. A strategic one says nothing about it."""
        expected = {"kind": self._kind.resource.kind, "apiVersion": self._kind.resource.api_version}
        for field, value in expected.items():
            found = patched.get(field)
            if not isinstance(found, str | None):
                raise patch_refusal(f"{field}: expected a string, got {found!r}")
            if self._type == STRATEGIC_PATCH:
                patched[field] = value
            elif found and found != value:
                raise patch_refusal(
                    f'{field} "{found}" cannot be handled as {expected["kind"]} in version '
                    f'"{expected["apiVersion"]}"'
                )
        if not patched.get("apiVersion"):
            self._refuse_unversioned(patched, complaints)

    def _refuse_unversioned(self, patched: Document, complaints: list[str]) -> None:
        """Without a version no field has a meaning, not even the name."""
        unknown = sorted(set(patched) - {"kind", "apiVersion"})
        self._complain([*complaints, *(f'unknown field "{field}"' for field in unknown)])
        raise bad_request("the patched document has no apiVersion: name must be provided")
