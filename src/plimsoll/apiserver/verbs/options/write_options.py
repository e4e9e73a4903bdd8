"""Options that all writes share: dry run, field manager, what to do about unknown fields."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.requests import REMEMBERED_LENGTH, Query
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.ownership.entries import UNKNOWN, manager_name
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid
from plimsoll.wire.transport import Request

MANAGER_LIMIT = 128
TOLD = ("fieldManager", "fieldValidation")
APPLY = "application/apply-patch+yaml"


class FieldValidation(StrEnum):
    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class RequestWriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: bool = False
    field_validation: FieldValidation = FieldValidation.WARN
    manager: str = UNKNOWN
    """Who owns the fields that the request changes."""
    force: bool = False
    """Apply takes fields from the managers that own them."""
    said: Document = msgspec.field(default_factory=dict)
    """What the client said of all this, as webhooks and policies are told it."""
    warnings: list[str] = msgspec.field(default_factory=list)
    """Told to the client with the answer, in order."""

    def complain(self, complaints: list[str]) -> None:
        """Unknown and repeated fields of a body: refuse them, warn of them, or say nothing."""
        match self.field_validation:
            case FieldValidation.STRICT if complaints:
                raise bad_request(f"strict decoding error: {', '.join(complaints)}")
            case FieldValidation.WARN:
                self.warnings.extend(complaints)
            case _:
                pass


def dry_run_errors(values: Sequence[str]) -> Iterator[FieldError]:
    """One error for all values. An empty value does not say that the write is meant to take place:
    it is refused as well."""
    if any(value != "All" for value in values):
        yield FieldError.not_supported("dryRun", list(values), ("All",))


def _option_errors(query: Query) -> Iterator[FieldError]:
    yield from dry_run_errors(query.all("dryRun"))
    manager = query.text("fieldManager")
    if len(manager.encode()) > MANAGER_LIMIT:
        yield FieldError.too_long("fieldManager", MANAGER_LIMIT)
    if not manager.isprintable():
        yield FieldError.invalid(
            "fieldManager", manager, "should only contain printable characters"
        )
    validation = query.text("fieldValidation")
    if validation and validation not in tuple(FieldValidation):
        yield FieldError.not_supported("fieldValidation", validation, tuple(FieldValidation))


def _patch_errors(query: Query, media_type: str) -> Iterator[FieldError]:
    if media_type == APPLY:
        if not query.text("fieldManager"):
            yield FieldError.required("fieldManager", "is required for apply patch")
    elif query.has("force"):
        yield FieldError.forbidden("force", "may not be specified for non-apply patch")


QueryPairs = tuple[tuple[str, str], ...]


def options_of_write(request: Request, options_kind: str, media_type: str) -> RequestWriteOptions:
    """The options of a request, which most clients repeat with each of their writes."""
    user_agent = request.headers.get("user-agent", "")
    length = sum([len(name) + len(value) for name, value in request.query], len(user_agent))
    read = _read_before if length <= REMEMBERED_LENGTH else _read
    return replace(read(request.query, options_kind, media_type, user_agent), warnings=[])


def _read(
    query: QueryPairs, options_kind: str, media_type: str, user_agent: str
) -> RequestWriteOptions:
    pairs = Query(Request(method="", path="", query=query))
    return write_options(pairs, options_kind, media_type=media_type, user_agent=user_agent)


_read_before = lru_cache(maxsize=256)(_read)


def write_options(
    query: Query, options_kind: str, *, media_type: str = "", user_agent: str = ""
) -> RequestWriteOptions:
    errors = list(_option_errors(query))
    if options_kind == "PatchOptions":
        errors = [*_patch_errors(query, media_type), *errors]
    if errors:
        raise invalid("meta.k8s.io", options_kind, "", errors)
    return RequestWriteOptions(
        dry_run="All" in query.all("dryRun"),
        field_validation=FieldValidation(query.text("fieldValidation") or "Warn"),
        manager=manager_name(query.text("fieldManager"), user_agent),
        force=bool(query.boolean("force")),
        said={name: query.text(name) for name in TOLD if query.text(name)},
    )


def patch_complaint(complaints: list[str]) -> ApiError:
    """The strict refusal of a patch, which real servers word as a validation error."""
    return patch_refusal(f"strict decoding error: {', '.join(complaints)}")


def patch_refusal(why: str) -> ApiError:
    """What the patch would make cannot be read as the kind."""
    error = invalid("", "", "", [FieldError.invalid("patch", "", why)])
    del (error.details or {})["kind"]
    return error
