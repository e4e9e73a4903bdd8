"""What is wrong with a field of a document, in the words of the Kubernetes API.

A validation rule yields FieldErrors; the server turns them into the causes of a Status.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import msgspec


class ErrorType(StrEnum):
    """Values are the cause reasons that clients see."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_FOUND = "FieldValueNotFound"
    NOT_SUPPORTED = "FieldValueNotSupported"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


WORDS = {
    ErrorType.REQUIRED: "Required value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TYPE_INVALID: "Invalid value",
    ErrorType.INTERNAL: "Internal error",
}


class _NoValue:
    """Stands for a value that is not shown: an object that breaks a rule about its fields."""


NO_VALUE = _NoValue()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One complaint: `field` is a path such as `spec.containers[0].name`."""

    type: ErrorType
    field: str
    detail: str = ""
    value: Any = None

    @classmethod
    def required(cls, field: str, detail: str = "") -> Self:
        return cls(ErrorType.REQUIRED, field, detail)

    @classmethod
    def invalid(cls, field: str, value: Any, detail: str) -> Self:
        return cls(ErrorType.INVALID, field, detail, value)

    @classmethod
    def broken_rule(cls, field: str, detail: str) -> Self:
        """An object that breaks a rule of its custom kind; the object itself is not shown."""
        return cls(ErrorType.INVALID, field, detail, NO_VALUE)

    @classmethod
    def duplicate(cls, field: str, value: Any) -> Self:
        return cls(ErrorType.DUPLICATE, field, "", value)

    @classmethod
    def forbidden(cls, field: str, detail: str) -> Self:
        return cls(ErrorType.FORBIDDEN, field, detail)

    @classmethod
    def not_supported(cls, field: str, value: Any, supported: tuple[str, ...]) -> Self:
        return cls.not_one_of(field, value, tuple(sorted(supported)))

    @classmethod
    def not_one_of(cls, field: str, value: Any, supported: tuple[str, ...]) -> Self:
        """The same with the values in the order in which they are given."""
        listed = ", ".join(f'"{name}"' for name in supported)
        return cls(ErrorType.NOT_SUPPORTED, field, f"supported values: {listed}", value)

    @classmethod
    def not_found(cls, field: str, value: Any) -> Self:
        return cls(ErrorType.NOT_FOUND, field, "", value)

    @classmethod
    def too_long(cls, field: str, limit: int) -> Self:
        return cls(ErrorType.TOO_LONG, field, f"may not be more than {limit} bytes")

    @classmethod
    def too_many(cls, field: str, actual: int, limit: int) -> Self:
        return cls(ErrorType.TOO_MANY, field, f"must have at most {limit} items", actual)

    @property
    def message(self) -> str:
        """The cause's message: the kind of error, the value where it helps, the detail."""
        shows_value = self.type in (
            ErrorType.INVALID,
            ErrorType.DUPLICATE,
            ErrorType.NOT_SUPPORTED,
            ErrorType.NOT_FOUND,
            ErrorType.TOO_MANY,
            ErrorType.TYPE_INVALID,
        )
        parts = [WORDS[self.type]]
        if shows_value and self.value is not NO_VALUE:
            parts.append(_shown(self.value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)


def _shown(value: Any) -> str:
    match value:
        case str():
            return f'"{value}"'
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case list() | tuple() | dict():
            return msgspec.json.encode(value).decode()
        case _:
            return str(value)
