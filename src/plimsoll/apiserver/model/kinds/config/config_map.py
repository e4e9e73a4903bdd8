"""Config maps, and what they share with secrets: keys, a size limit, a switch to freeze them."""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.rules import KindRules

KEY = re.compile(r"[-._a-zA-Z0-9]+")
KEY_LIMIT = 253
SIZE_LIMIT = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"
WHOLE_OBJECT = "[]"
"""Field of an error that belongs to no field."""


def data_key_errors(key: str) -> list[str]:
    """Keys become file names."""
    errors = []
    if len(key) > KEY_LIMIT:
        errors.append(f"must be no more than {KEY_LIMIT} characters")
    if not KEY.fullmatch(key):
        errors.append("a valid config key must consist of alphanumeric characters, '-', '_' or '.'")
    if key == ".":
        errors.append("must not be '.'")
    elif key == "..":
        errors.append("must not be '..'")
    elif key.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def data_errors(data: Iterable[str], path: str) -> Iterator[FieldError]:
    for key in data:
        for error in data_key_errors(key):
            yield FieldError.invalid(f"{path}[{key}]", key, error)


def frozen_errors(new: Document, old: Document, fields: Iterable[str]) -> Iterator[FieldError]:
    """An object once frozen can be neither changed nor thawed."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield FieldError.forbidden("immutable", FROZEN)
    for field in fields:
        if new.get(field, {}) != old.get(field, {}):
            yield FieldError.forbidden(field, FROZEN)


def fill_empty(config: Document, field: str) -> None:
    """Bytes that are null are none, as the real server reads them back."""
    encoded = config.get(field, {})
    for key in [key for key, value in encoded.items() if value is None]:
        encoded[key] = ""


def default(config_map: Document) -> None:
    fill_empty(config_map, "binaryData")


def decoded_size(encoded: Document) -> int:
    return sum(len(b64decode(value)) for value in encoded.values())


def validate(config_map: Document) -> Iterator[FieldError]:
    data, binary = config_map.get("data", {}), config_map.get("binaryData", {})
    yield from data_errors(data, "data")
    for key in data:
        if key in binary:
            yield FieldError.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    yield from data_errors(binary, "binaryData")
    size = sum(len(value.encode()) for value in data.values()) + decoded_size(binary)
    if size > SIZE_LIMIT:
        yield FieldError.too_long(WHOLE_OBJECT, SIZE_LIMIT)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from frozen_errors(new, old, ("data", "binaryData"))
    yield from validate(new)


RULES = KindRules(
    default=default,
    validate=validate,
    validate_update=validate_update,
    name_checked_on_update=True,
)
