"""Named formats of texts, and what is wrong with a text that does not have one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plimsoll.api.names import (
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)
from plimsoll.apiserver.model.custom.cel.library.types import want
from plimsoll.apiserver.model.custom.cel.values import NONE, Meter, OptionalValue, optional_of
from plimsoll.apiserver.model.custom.values import formats
from plimsoll.apiserver.model.custom.values.regexes import matches

Errors = Callable[[str], list[str]]
_LABEL_1035 = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
_NOT_1035 = "a DNS-1035 label must start with a letter"
_LONGEST_LABEL = 63


@dataclass(frozen=True, slots=True)
class CelFormat:
    name: str
    errors: Errors


def _label_1035_errors(text: str) -> list[str]:
    is_label = len(text) <= _LONGEST_LABEL and matches(_LABEL_1035, text)
    return [] if is_label else [_NOT_1035]


def _as_prefix(errors: Errors) -> Errors:
    return lambda text: errors(text[:-1] + "a" if text.endswith("-") else text)


def _of_schema(name: str, said: str) -> Errors:
    return lambda text: [] if formats.is_valid(name, text) else [said]


_ERRORS: dict[str, Errors] = {
    "dns1123Label": dns_label_errors,
    "dns1123LabelPrefix": _as_prefix(dns_label_errors),
    "dns1123Subdomain": dns_subdomain_errors,
    "dns1123SubdomainPrefix": _as_prefix(dns_subdomain_errors),
    "dns1035Label": _label_1035_errors,
    "dns1035LabelPrefix": _as_prefix(_label_1035_errors),
    "qualifiedName": qualified_name_errors,
    "labelValue": label_value_errors,
    "uri": _of_schema("uri", "invalid URI"),
    "uuid": _of_schema("uuid", "does not match the UUID format"),
    "byte": _of_schema("byte", "invalid base64"),
    "date": _of_schema("date", "invalid date"),
    "datetime": _of_schema("datetime", "invalid datetime"),
}
FORMATS = {name: CelFormat(name, errors) for name, errors in _ERRORS.items()}


def named(_meter: Meter, name: Any) -> OptionalValue:
    want(str, name)
    return optional_of(FORMATS[name]) if name in FORMATS else NONE


def validate(meter: Meter, known: Any, text: Any) -> OptionalValue:
    want(CelFormat, known)
    want(str, text)
    meter.charge(len(text) // 10)
    errors = known.errors(text)
    return optional_of(errors) if errors else NONE


def _constant(known: CelFormat) -> Callable[[Meter], CelFormat]:
    return lambda _meter: known


NAMESPACES: dict[str, Callable[..., Any]] = {
    f"format.{name}": _constant(known) for name, known in FORMATS.items()
} | {"format.named": named}
METHODS: dict[str, Callable[..., Any]] = {"validate": validate}
