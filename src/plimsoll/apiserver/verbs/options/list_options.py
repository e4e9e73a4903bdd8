"""Options that lists and watches share: from which revision, and how exactly.

Options that contradict each other are refused with 422, revisions that the server does not have
with 410 or 504, as clients of the real server expect.
"""

from collections.abc import Iterator

from plimsoll.apiserver.http.requests import Query, parse_unsigned
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid

EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"
MATCH = "resourceVersionMatch"
NUMBERS = ("timeoutSeconds", "limit")
"""In the order in which the real server reads them."""


def check_numbers(query: Query) -> None:
    """Raises 400, also where the verb makes no use of the number, as the real server does."""
    for name in NUMBERS:
        query.integer(name)


def check_list_options(query: Query, *, watch: bool) -> None:
    """Raises 422 for options that contradict each other."""
    errors = list(_watch_errors(query) if watch else _list_errors(query))
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)


def is_legacy_watch(query: Query) -> bool:
    """A watch from no revision, or from any: the current state comes first, without being asked
    for."""
    says_how = query.has("sendInitialEvents") or query.text(MATCH)
    return not says_how and query.text("resourceVersion") in ("", "0")


def _list_errors(query: Query) -> Iterator[FieldError]:
    match, revision = query.text(MATCH), query.text("resourceVersion")
    if match and not revision:
        yield FieldError.forbidden(
            MATCH, f"{MATCH} is forbidden unless resourceVersion is provided"
        )
    if match and query.text("continue"):
        yield _forbidden_with_continue()
    if match not in ("", EXACT, NOT_OLDER_THAN):
        yield FieldError.not_one_of(MATCH, match, (EXACT, NOT_OLDER_THAN, ""))
    if match == EXACT and revision == "0":
        yield FieldError.forbidden(MATCH, f'{MATCH} "exact" is forbidden for resourceVersion "0"')
    if query.has("sendInitialEvents"):
        yield FieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _watch_errors(query: Query) -> Iterator[FieldError]:
    is_legacy = is_legacy_watch(query)
    match = NOT_OLDER_THAN if is_legacy else query.text(MATCH)
    if query.has("sendInitialEvents") and match != NOT_OLDER_THAN:
        yield FieldError.forbidden(
            MATCH, f"sendInitialEvents requires setting {MATCH} to {NOT_OLDER_THAN}"
        )
    if not match:
        return
    if not is_legacy and not query.has("sendInitialEvents"):
        yield FieldError.forbidden(
            MATCH, f"{MATCH} is forbidden for watch unless sendInitialEvents is provided"
        )
    if match != NOT_OLDER_THAN:
        yield FieldError.not_one_of(MATCH, match, (NOT_OLDER_THAN,))
    if query.text("continue"):
        yield _forbidden_with_continue()


def _forbidden_with_continue() -> FieldError:
    return FieldError.forbidden(MATCH, f"{MATCH} is forbidden when continue is provided")


def parse_revision(text: str) -> int:
    """Raises 400."""
    try:
        return parse_unsigned(text)
    except ValueError as error:
        raise bad_request(f'resourceVersion: Invalid value: "{text}": {error}') from error


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
