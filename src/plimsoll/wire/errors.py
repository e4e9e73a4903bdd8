"""What can go wrong with a Kubernetes request, and what may safely happen next.

One tree: KubeError, and below it FencedError for what this process did not allow itself. Callers
look at `failure`, never at codes or texts. The difference that matters most is certainty: every
failure but UNKNOWN_OUTCOME and TIMEOUT means that the write did not happen.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Any

import msgspec

from plimsoll.api.registry import Document


class Failure(StrEnum):
    NOT_FOUND = "NotFound"
    """There is no such object (or kind). For a delete: it is done."""
    ALREADY_EXISTS = "AlreadyExists"
    """The name is taken. For a create with a name of ours: it may have been us, look."""
    CONFLICT = "Conflict"
    """Another writer was first, or a precondition does not hold: read again, decide again."""
    INVALID = "Invalid"
    """The object breaks a rule; repeating the write cannot help."""
    BAD_REQUEST = "BadRequest"
    """The request makes no sense to this server; repeating it cannot help."""
    FORBIDDEN = "Forbidden"
    """This identity may not do this, or a policy refuses; a person must act."""
    UNAUTHORIZED = "Unauthorized"
    """The server does not know this identity; fresh credentials may help."""
    GONE = "Gone"
    """The resourceVersion or continue token is too old: list again."""
    TOO_MANY_REQUESTS = "TooManyRequests"
    """Nothing was done; ask again after `retry_after`. Evictions are refused like this too."""
    UNAVAILABLE = "Unavailable"
    """Nothing was done: the server could not be reached, or said that it cannot serve now."""
    TIMEOUT = "Timeout"
    """The server gave up waiting: a write may or may not have happened."""
    UNKNOWN_OUTCOME = "UnknownOutcome"
    """No answer that can be trusted: a write may or may not have happened."""
    FENCED = "Fenced"
    """Nothing was done: this process may not be the leader any more, and has to end."""


UNCERTAIN = frozenset({Failure.TIMEOUT, Failure.UNKNOWN_OUTCOME})
PASSING = frozenset({Failure.TOO_MANY_REQUESTS, Failure.UNAVAILABLE}) | UNCERTAIN

FAILURE_BY_REASON = {
    "NotFound": Failure.NOT_FOUND,
    "AlreadyExists": Failure.ALREADY_EXISTS,
    "Conflict": Failure.CONFLICT,
    "Invalid": Failure.INVALID,
    "BadRequest": Failure.BAD_REQUEST,
    "Forbidden": Failure.FORBIDDEN,
    "Unauthorized": Failure.UNAUTHORIZED,
    "Gone": Failure.GONE,
    "Expired": Failure.GONE,
    "TooManyRequests": Failure.TOO_MANY_REQUESTS,
    "Timeout": Failure.TIMEOUT,
    # Also said when the storage behind the server could not be reached in the middle of a write.
    "ServerTimeout": Failure.TIMEOUT,
}

FAILURE_BY_CODE = {
    400: Failure.BAD_REQUEST,
    401: Failure.UNAUTHORIZED,
    403: Failure.FORBIDDEN,
    404: Failure.NOT_FOUND,
    405: Failure.BAD_REQUEST,
    406: Failure.BAD_REQUEST,
    409: Failure.CONFLICT,
    410: Failure.GONE,
    413: Failure.BAD_REQUEST,
    415: Failure.BAD_REQUEST,
    422: Failure.INVALID,
    429: Failure.TOO_MANY_REQUESTS,
    504: Failure.TIMEOUT,
}


class KubeError(Exception):
    """A request got no, or a negative, answer.

    `operation` says which request ("PATCH /api/v1/..."), the text what the server said.
    """

    def __init__(
        self,
        failure: Failure,
        message: str,
        *,
        operation: str = "",
        status: Document | None = None,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(f"{operation}: {message}" if operation else message)
        self.failure = failure
        self.message = message
        self.operation = operation
        self.status = status or {}
        self.retry_after = retry_after

    @property
    def code(self) -> int:
        """The HTTP status; 0 when no answer came."""
        code = self.status.get("code", 0)
        return code if isinstance(code, int) else 0

    @property
    def causes(self) -> list[Document]:
        """Which fields were wrong, as the server lists them."""
        details = self.status.get("details") or {}
        causes: list[Document] = details.get("causes") or []
        return causes

    @property
    def is_certain(self) -> bool:
        """True when the write surely did not happen."""
        return self.failure not in UNCERTAIN

    @property
    def is_passing(self) -> bool:
        """True when the same request may succeed later without any change."""
        return self.failure in PASSING


class FencedError(KubeError):
    """A write or a driver call was turned away: before it left (`wire.fenced`), or by a driver that
    knows a newer leader (`wire.csi.fenced`)."""

    def __init__(
        self,
        *,
        operation: str,
        message: str = "not sent: the lease was not renewed in time, another copy may lead by now",
    ) -> None:
        super().__init__(Failure.FENCED, message, operation=operation)


def error_from_response(
    code: int, headers: Mapping[str, str], body: bytes, *, operation: str
) -> KubeError:
    """From an answer with a status of 400 or more, also from a proxy, which sends no Status."""
    status = _status_document(code, body)
    return error_from_status(status, operation=operation, retry_after=_retry_after(headers))


def error_from_status(
    status: Document, *, operation: str, retry_after: timedelta | None = None
) -> KubeError:
    """From a Status document, of an answer or of an ERROR event in a watch."""
    code = status.get("code", 0)
    reason = str(status.get("reason") or "")
    seconds = (status.get("details") or {}).get("retryAfterSeconds")
    if isinstance(seconds, int) and retry_after is None:
        retry_after = timedelta(seconds=seconds)
    failure = (
        FAILURE_BY_REASON.get(reason)
        or FAILURE_BY_CODE.get(code)
        or _by_class(code, is_deferral=retry_after is not None)
    )
    message = str(status.get("message") or reason or f"status {code}")
    return KubeError(failure, message, operation=operation, status=status, retry_after=retry_after)


def _by_class(code: int, *, is_deferral: bool) -> Failure:
    """A 503 that names a time to come back was refused before it was processed; without one it may
    come from a proxy that lost its server half-way."""
    if code == HTTPStatus.SERVICE_UNAVAILABLE and is_deferral:
        return Failure.UNAVAILABLE
    is_refusal = HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR
    return Failure.BAD_REQUEST if is_refusal else Failure.UNKNOWN_OUTCOME


def _status_document(code: int, body: bytes) -> Document:
    try:
        found: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        found = None
    if isinstance(found, dict) and found.get("kind") == "Status":
        return found | {"code": found.get("code") or code}
    text = body[:200].decode(errors="replace").strip()
    return {"kind": "Status", "code": code, "message": text or f"status {code} without a body"}


def _retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """Kubernetes sends whole seconds; the date form of HTTP is not worth a parser."""
    text = headers.get("retry-after", "")
    return timedelta(seconds=int(text)) if text.isdecimal() else None
