"""Fields of a custom kind that field selectors may name."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.json_paths import simple_names
from plimsoll.apiserver.model.field_errors import FieldError

MOST_FIELDS = 8
SELECTABLE_TYPES = ("string", "boolean", "integer")


def selectable_errors(version: Document, path: str) -> Iterator[FieldError]:
    fields = version.get("selectableFields") or []
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    if len(fields) > MOST_FIELDS:
        yield FieldError.too_many(path, len(fields), MOST_FIELDS)
    seen = set()
    for index, field in enumerate(fields):
        where, given = f"{path}[{index}].jsonPath", field.get("jsonPath", "")
        if not given:
            yield FieldError.required(where)
            continue
        yield from _path_errors(given, schema, where)
        if given in seen:
            yield FieldError.duplicate(where, given)
        seen.add(given)


def _path_errors(given: str, schema: Document, where: str) -> Iterator[FieldError]:
    if not given.startswith("."):
        yield FieldError.invalid(where, given, "is an invalid path: must start with a dot")
        return
    names = simple_names(given)
    if names[0] == "metadata":
        yield FieldError.invalid(where, given, "must not point to fields in metadata")
        return
    place: Document | None = schema
    for name in names:
        place = ((place or {}).get("properties") or {}).get(name)
    if place is None:
        said = f"is an invalid path: does not refer to a valid field: {given}"
        yield FieldError.invalid(where, given, said)
    elif place.get("type") not in SELECTABLE_TYPES:
        said = (
            "must point to a field of type string, boolean or integer. "
            "Enum string fields and strings with formats are allowed."
        )
        yield FieldError.invalid(where, given, said)
