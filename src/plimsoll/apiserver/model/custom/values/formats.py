"""The formats that texts of custom resources may have; a format that is not here means nothing.

Names are compared without hyphens, as Kubernetes does. Every function says whether a text has the
format, in time that grows with its length at most.
"""

import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from functools import partial
from urllib.parse import urlsplit

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.apiserver.model.custom.values import regexes

LONGEST = 10_000
"""No text of any format is longer than this, but for bytes and passwords."""

_LONGEST_HOSTNAME, _LONGEST_LABEL = 255, 63
_HEX = "[0-9a-fA-F]"
_UUID = f"^{_HEX}{{8}}-?{_HEX}{{4}}-?%s-?%s-?{_HEX}{{12}}$"
_ANY4 = f"{_HEX}{{4}}"
_TIME = (
    r"^\d{4}-\d{2}-\d{2}[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?"
    r"(?:[Zz]|[+-]\d{2}:\d{2})?$"
)
_PATTERNS = {
    "bsonobjectid": f"^{_HEX}{{24}}$",
    "creditcard": r"^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|"
    r"3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$",
    "hexcolor": r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$",
    "mac": r"^([0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}|[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){7}|"
    r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){19}|[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){2}|"
    r"[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){3}|[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){9})$",
    "rgbcolor": r"^rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)$",
    "ssn": r"^\d{3}[- ]?\d{2}[- ]?\d{4}$",
    "uuid": _UUID % (_ANY4, _ANY4),
    "uuid3": _UUID % ("3" + _HEX + "{3}", _ANY4),
    "uuid4": _UUID % ("4" + _HEX + "{3}", "[89abAB]" + _HEX + "{3}"),
    "uuid5": _UUID % ("5" + _HEX + "{3}", "[89abAB]" + _HEX + "{3}"),
}
_GO_DURATION = r"^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$"
_WORDY_DURATION = (
    r"^\d+\s*(ns|nano|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|"
    r"s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)$"
)


def is_valid(name: str, text: str) -> bool:
    """Whether the text has the format; of a format that no server knows, always."""
    check = FORMATS.get(name.replace("-", ""))
    if check is None:
        return True
    return (len(text) <= LONGEST or name in _LONG) and check(text)


def is_known(name: str) -> bool:
    return name.replace("-", "") in FORMATS


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2006-01-02")


def _is_time(text: str) -> bool:
    return regexes.matches(_TIME, text) and _is_date(text[:10])


def _is_duration(text: str) -> bool:
    return regexes.matches(_GO_DURATION, text) or regexes.matches(_WORDY_DURATION, text)


def _is_address(text: str, version: int = 4) -> bool:
    try:
        return ipaddress.ip_address(text).version == version and "%" not in text
    except ValueError:
        return False


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return text.rpartition("/")[2].isdigit() and "/" in text


def _is_hostname(text: str) -> bool:
    """Labels of letters, digits and hyphens, of any script."""
    labels = text.removesuffix(".").split(".")
    return len(text) <= _LONGEST_HOSTNAME and all(
        label.replace("-", "").isalnum()
        and label[0] != "-" != label[-1]
        and len(label) <= _LONGEST_LABEL
        for label in labels
    )


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    has_spaces = any(c.isspace() or ord(c) < ord(" ") for c in text)
    return not has_spaces and (text.startswith("/") or bool(parts.scheme))


def _is_email(text: str) -> bool:
    name, at, domain = text.rpartition("@")
    return bool(at and name and domain) and not re.search(r"[\s<>]", text)


def _is_base64(text: str) -> bool:
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return False
    return len(text) % 4 == 0


def _is_isbn(text: str, lengths: tuple[int, ...] = (10, 13)) -> bool:
    plain = text.replace("-", "").replace(" ", "")
    if len(plain) not in lengths or not (plain[:-1].isdigit() and plain[-1] in "0123456789X"):
        return False
    digits = [10 if c == "X" else int(c) for c in plain]
    if len(plain) == 10:  # noqa: PLR2004 ISBN-10
        return sum((10 - i) * d for i, d in enumerate(digits)) % 11 == 0
    return digits[-1] < 10 and sum(d * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0  # noqa: PLR2004


def _has_no(errors: Callable[[str], list[str]], text: str) -> bool:
    return not errors(text)


def _is_card(text: str) -> bool:
    return regexes.matches(_PATTERNS["creditcard"], re.sub(r"[^0-9]", "", text))


_LONG = frozenset({"byte", "password"})
FORMATS: dict[str, Callable[[str], bool]] = {
    **{name: partial(regexes.matches, pattern) for name, pattern in _PATTERNS.items()},
    "byte": _is_base64,
    "cidr": _is_cidr,
    "creditcard": _is_card,
    "date": _is_date,
    "datetime": _is_time,
    "duration": _is_duration,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_address,
    "ipv6": partial(_is_address, version=6),
    "isbn": _is_isbn,
    "isbn10": partial(_is_isbn, lengths=(10,)),
    "isbn13": partial(_is_isbn, lengths=(13,)),
    "k8slongname": partial(_has_no, dns_subdomain_errors),
    "k8sshortname": partial(_has_no, dns_label_errors),
    "password": lambda _text: True,
    "uri": _is_uri,
}
