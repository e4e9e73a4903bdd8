"""Refusals of the API: Status documents, and the exception that carries one to the edge."""

from collections.abc import Iterable, Sequence
from typing import Any

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.model.field_errors import FieldError


class ApiError(Exception):
    """A request is refused; `document` is the Status that the client gets."""

    def __init__(
        self, code: int, reason: str, message: str, details: Document | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = details
        self.metadata: Document = {}
        self.warnings: tuple[str, ...] = ()
        self.annotations: tuple[tuple[str, str], ...] = ()
        """For the audit log; clients do not see them."""

    @property
    def document(self) -> Document:
        status: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": str(self),
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _details(resource: Resource, name: str, kind: str = "", **more: Any) -> Document:
    details: Document = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details | more


def not_found(resource: Resource, name: str) -> ApiError:
    message = f'{resource.qualified_name} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(resource, name))


def already_exists(resource: Resource, name: str, *, deleting: bool = False) -> ApiError:
    prefix = "object is being deleted: " if deleting else ""
    message = f'{prefix}{resource.qualified_name} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(resource, name))


def conflict(resource: Resource, name: str, why: str, *, by_kind: bool = False) -> ApiError:
    """`by_kind`: preconditions of a delete are refused in the name of the kind."""
    called = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    shown = called if by_kind else resource.qualified_name
    details = _details(resource, name, resource.kind if by_kind else "")
    message = f'Operation cannot be fulfilled on {shown} "{name}": {why}'
    return ApiError(409, "Conflict", message, details)


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Document] = ()) -> ApiError:
    message = f'{resource.qualified_name} "{name}" is forbidden: {why}'
    details = _details(resource, name)
    if causes:
        details["causes"] = list(causes)
    return ApiError(403, "Forbidden", message, details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def invalid(group: str, kind: str, name: str, errors: Iterable[FieldError]) -> ApiError:
    """422 with one cause for each error; the same complaint twice is one."""
    listed = list(dict.fromkeys((e.type, e.field, e.message) for e in errors))
    texts = [f"{field}: {message}" for _, field, message in listed]
    said = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: Document = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [
        {"reason": str(reason), "message": message, "field": field}
        for reason, field, message in listed
    ]
    qualified = f"{kind}.{group}" if group else kind
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {said}', details)
