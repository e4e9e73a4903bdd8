"""Events, which have two faces: `v1` and `events.k8s.io/v1` show one and the same stored object.

The store holds the older face. `events_to_core` and `core_to_events` turn one into the other.
Requests to the newer face meet stricter rules, but all complaints name the fields of the older
one, except `reportingController`.
"""

from collections.abc import Iterator

from plimsoll.api.names import name_is_path_segment, qualified_name_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import IMMUTABLE
from plimsoll.apiserver.model.kinds.rules import KindRules

CORE_VERSION = "v1"
NEW_VERSION = "events.k8s.io/v1"
CORE_FIELD_BY_NEW = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
NEW_FIELD_BY_CORE = {core: new for new, core in CORE_FIELD_BY_NEW.items()}
ALWAYS_SHOWN = {"reportingComponent": "", "reportingInstance": ""}
"""Fields that the older face shows even when they are empty."""

SHORT_TEXT_LIMIT = 128
MESSAGE_LIMIT = 1024
LEAST_REPEATS = 2
TYPES = ("Normal", "Warning")
INVOLVED_FIELDS = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)
FIXED_FIELDS = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def events_to_core(event: Document) -> Document:
    """The stored form of an event of the newer face."""
    core = {CORE_FIELD_BY_NEW.get(field, field): value for field, value in event.items()}
    return ALWAYS_SHOWN | core | {"apiVersion": CORE_VERSION}


def core_to_events(event: Document) -> Document:
    """How the newer face shows a stored event."""
    shown = {
        NEW_FIELD_BY_CORE.get(field, field): value
        for field, value in event.items()
        if value != "" or field not in ALWAYS_SHOWN
    }
    return shown | {"apiVersion": NEW_VERSION}


# The older face


def validate_core(event: Document) -> Iterator[FieldError]:
    yield from _agreement_errors(event, "reportingComponent")


def validate_core_update(new: Document, _old: Document) -> Iterator[FieldError]:
    return validate_core(new)


def core_fields(event: Document) -> dict[str, str]:
    involved = event.get("involvedObject", {})
    reporter = event.get("reportingComponent", "")
    return {f"involvedObject.{field}": involved.get(field, "") for field in INVOLVED_FIELDS} | {
        "reason": event.get("reason", ""),
        "reportingComponent": reporter,
        "source": event.get("source", {}).get("component", "") or reporter,
        "type": event.get("type", ""),
    }


# The newer face


def validate_new(event: Document) -> Iterator[FieldError]:
    core = events_to_core(event)
    yield from _agreement_errors(core, "reportingController")
    yield from _series_errors(core)
    if not core.get("eventTime"):
        yield FieldError.required("eventTime")
    if core.get("type") not in TYPES:
        yield FieldError.invalid("type", "", f"has invalid value: {core.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        if core.get(field):
            yield FieldError.invalid(field, "", "needs to be unset")
    if any(core.get("source", {}).values()):
        yield FieldError.invalid("source", "", "needs to be unset")


def validate_new_update(new: Document, old: Document) -> Iterator[FieldError]:
    core, before = events_to_core(new), events_to_core(old)
    yield from _agreement_errors(core, "reportingController")
    if core.get("series") != before.get("series"):
        yield from _series_errors(core)
    for field in FIXED_FIELDS:
        if (core.get(field) or None) != (before.get(field) or None):
            shown = "reportingController" if field == "reportingComponent" else field
            yield FieldError.invalid(shown, core.get(field), IMMUTABLE)


def new_fields(event: Document) -> dict[str, str]:
    regarding = event.get("regarding", {})
    return {f"regarding.{field}": regarding.get(field, "") for field in INVOLVED_FIELDS} | {
        field: event.get(field, "") for field in ("reason", "reportingController", "type")
    }


# What both faces ask for


def _agreement_errors(event: Document, reporter_field: str) -> Iterator[FieldError]:
    """An event without a time of its own is of the old style, and less is asked of it."""
    namespace = event["metadata"].get("namespace", "")
    involved = event.get("involvedObject", {}).get("namespace", "")
    new_style = bool(event.get("eventTime"))
    if new_style:
        agrees = bool(involved) or namespace in ("default", "kube-system")
    else:
        agrees = namespace == involved or (not involved and namespace == "default")
    if not agrees:
        yield FieldError.invalid(
            "involvedObject.namespace", involved, "does not match event.namespace"
        )
    if new_style:
        yield from _new_style_errors(event, reporter_field)


def _new_style_errors(event: Document, reporter_field: str) -> Iterator[FieldError]:
    reporter = event.get("reportingComponent", "")
    if not reporter:
        yield FieldError.required(reporter_field)
    for error in qualified_name_errors(reporter):
        yield FieldError.invalid(reporter_field, reporter, error)
    for field in ("reportingInstance", "action", "reason"):
        text = event.get(field, "")
        if not text:
            yield FieldError.required(field)
        yield from _length_errors(text, field, SHORT_TEXT_LIMIT)
    yield from _length_errors(event.get("message", ""), "message", MESSAGE_LIMIT)


def _length_errors(text: str, field: str, limit: int) -> Iterator[FieldError]:
    if len(text.encode()) > limit:
        yield FieldError.invalid(field, "", f"can have at most {limit} characters")


def _series_errors(event: Document) -> Iterator[FieldError]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < LEAST_REPEATS:
        yield FieldError.invalid("series.count", "", f"should be at least {LEAST_REPEATS}")
    if not series.get("lastObservedTime"):
        yield FieldError.required("series.lastObservedTime")


CORE_RULES = KindRules(
    validate=validate_core,
    validate_update=validate_core_update,
    name_errors=name_is_path_segment,
    selectable_fields=core_fields,
    create_on_update=True,
    plain_finalizers=True,
    owns_others=False,
)
NEW_RULES = KindRules(
    validate=validate_new,
    validate_update=validate_new_update,
    selectable_fields=new_fields,
    create_on_update=True,
    owns_others=False,
)
