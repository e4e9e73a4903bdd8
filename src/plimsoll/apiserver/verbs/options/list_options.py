"""Options that lists and watches share: from which revision, and how exactly.

Options that contradict each other are refused with 422, revisions that the server does not have
with 410 or 504, as clients of the real server expect.
"""

from collections.abc import Iterator

from plimsoll.apiserver.http.requests import Query
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid

EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"


def check_list_options(query: Query, *, watch: bool) -> None:
    errors = list(_list_option_errors(query, watch=watch))
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)


def _list_option_errors(query: Query, *, watch: bool) -> Iterator[FieldError]:
    match = query.text("resourceVersionMatch")
    if query.has("sendInitialEvents"):
        if match != NOT_OLDER_THAN:
            yield FieldError.forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
        if not watch:
            yield FieldError.forbidden(
                "sendInitialEvents", "sendInitialEvents is forbidden for list"
            )
        elif match and match != NOT_OLDER_THAN:
            yield FieldError.not_supported("resourceVersionMatch", match, (NOT_OLDER_THAN,))
    elif match:
        yield from _match_errors(query, match, watch=watch)


def _match_errors(query: Query, match: str, *, watch: bool) -> Iterator[FieldError]:
    revision = query.text("resourceVersion")
    if watch:
        yield FieldError.forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )
    elif not revision:
        yield FieldError.forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )
    elif query.text("continue"):
        yield FieldError.forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
        )
    elif match not in (EXACT, NOT_OLDER_THAN):
        yield FieldError.not_supported("resourceVersionMatch", match, (EXACT, NOT_OLDER_THAN, ""))
    elif match == EXACT and revision == "0":
        yield FieldError.forbidden(
            "resourceVersionMatch",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        )


def parse_revision(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:  # noqa: PLR2004 64 bits
        raise bad_request(f'resourceVersion: Invalid value: "{text}": must be a number')
    return int(text)


def gone(message: str, *, fresh_token: str = "") -> ApiError:
    """The revision is forgotten; with the fresh token a list goes on inconsistently."""
    error = ApiError(410, "Expired", message)
    error.metadata = {"continue": fresh_token} if fresh_token else {}
    return error


def too_large(revision: int, current: int) -> ApiError:
    """The client has seen a version that this server has not."""
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {revision}, current: {current}",
        {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
    )
