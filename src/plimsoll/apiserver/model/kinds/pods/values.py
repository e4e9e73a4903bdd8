"""Rules of single values that pods and workloads share: numbers, names, paths, ports, addresses."""

import re
from collections.abc import Iterable, Iterator

from plimsoll.api.names import (
    dns_label_errors,
    dns_subdomain_errors,
    qualified_name_errors,
)
from plimsoll.apiserver.model.field_errors import FieldError

MAX_INT32 = 2**31 - 1
MAX_PORT = 65535
PORT_NAME_LIMIT = 15
CONFIG_KEY_LIMIT = 253
FILE_MODES = range(0o777 + 1)

NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
NOT_A_FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"

PORT_NAME_CHARACTERS = re.compile(r"[-a-z0-9]+")
CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
UNDERSCORED_LABEL = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
UNDERSCORED_SUBDOMAIN = re.compile(rf"{UNDERSCORED_LABEL}(\.{UNDERSCORED_LABEL})*")


def distinct(errors: Iterable[FieldError]) -> list[FieldError]:
    """The same complaint is made once, even when several rules lead to it."""
    return list({(e.type, e.field, e.message): e for e in errors}.values())


def not_negative(value: int, path: str) -> Iterator[FieldError]:
    if value < 0:
        yield FieldError.invalid(path, value, NEGATIVE)


def positive(value: int, path: str) -> Iterator[FieldError]:
    if value <= 0:
        yield FieldError.invalid(path, value, NOT_POSITIVE)


def in_range(value: int, path: str, first: int, last: int) -> Iterator[FieldError]:
    if not first <= value <= last:
        yield FieldError.invalid(path, value, f"must be between {first} and {last}, inclusive")


def user_or_group(value: int | None, path: str) -> Iterator[FieldError]:
    if value is not None:
        yield from in_range(value, path, 0, MAX_INT32)


def file_mode(value: int | None, path: str) -> Iterator[FieldError]:
    if value is not None and value not in FILE_MODES:
        yield FieldError.invalid(path, value, NOT_A_FILE_MODE)


def one_of(value: str, path: str, supported: tuple[str, ...]) -> Iterator[FieldError]:
    if value not in supported:
        yield FieldError.not_supported(path, value, supported)


def required_one_of(value: str, path: str, supported: tuple[str, ...]) -> Iterator[FieldError]:
    """As `one_of`, for values that are filled in when missing: only an empty one gets here."""
    if not value:
        yield FieldError.required(path)
    else:
        yield from one_of(value, path, supported)


def required(value: object, path: str, detail: str = "") -> Iterator[FieldError]:
    if not value:
        yield FieldError.required(path, detail)


def dns_label(value: str, path: str) -> Iterator[FieldError]:
    for error in dns_label_errors(value):
        yield FieldError.invalid(path, value, error)


def dns_subdomain(value: str, path: str) -> Iterator[FieldError]:
    for error in dns_subdomain_errors(value):
        yield FieldError.invalid(path, value, error)


def dns_search(value: str, path: str) -> Iterator[FieldError]:
    """A search domain may hold underscores and end in a dot, or be only a dot."""
    name = value.removesuffix(".")
    if value == ".":
        return
    if len(name) > CONFIG_KEY_LIMIT:
        yield FieldError.invalid(path, name, f"must be no more than {CONFIG_KEY_LIMIT} bytes")
    if not UNDERSCORED_SUBDOMAIN.fullmatch(name):
        yield FieldError.invalid(path, name, "must be a lowercase subdomain, underscores allowed")


def qualified_name(value: str, path: str) -> Iterator[FieldError]:
    for error in qualified_name_errors(value):
        yield FieldError.invalid(path, value, error)


def config_key(value: str, path: str) -> Iterator[FieldError]:
    if len(value) > CONFIG_KEY_LIMIT:
        yield FieldError.invalid(path, value, f"must be no more than {CONFIG_KEY_LIMIT} characters")
    if not CONFIG_KEY.fullmatch(value):
        yield FieldError.invalid(
            path,
            value,
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        )
    if value in (".", ".."):
        yield FieldError.invalid(path, value, f"must not be '{value}'")
    elif value.startswith(".."):
        yield FieldError.invalid(path, value, "must not start with '..'")


def no_backsteps(value: str, path: str) -> Iterator[FieldError]:
    if ".." in value.split("/"):
        yield FieldError.invalid(path, value, "must not contain '..'")


def descending_path(value: str, path: str) -> Iterator[FieldError]:
    if value.startswith("/"):
        yield FieldError.invalid(path, value, "must be a relative path")
    yield from no_backsteps(value, path)


def file_below_volume(value: str, path: str) -> Iterator[FieldError]:
    """Names that begin with two dots are kept for the node agent itself."""
    yield from descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield FieldError.invalid(path, value, "must not start with '..'")


def port_number(value: int, path: str) -> Iterator[FieldError]:
    yield from in_range(value, path, 1, MAX_PORT)


def port_name_errors(value: str) -> list[str]:
    errors = []
    if len(value) > PORT_NAME_LIMIT:
        errors.append(f"must be no more than {PORT_NAME_LIMIT} characters")
    if not PORT_NAME_CHARACTERS.fullmatch(value):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def port_number_or_name(value: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(value, int):
        yield from port_number(value, path)
        return
    for error in port_name_errors(value):
        yield FieldError.invalid(path, value, error)
