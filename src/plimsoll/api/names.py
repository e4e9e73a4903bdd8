"""Which names the API accepts, and the messages with which it refuses others."""

import re

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
QUALIFIED_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

LABEL_LIMIT = 63
SUBDOMAIN_LIMIT = 253

NOT_A_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
NOT_A_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    "'-' or '.', and must start and end with an alphanumeric character"
)
NOT_QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
NOT_A_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


def _masked(name: str, *, prefix: bool) -> str:
    """A generateName prefix may end in a dash, because more characters follow it."""
    return name[:-1] + "a" if prefix and name.endswith("-") and len(name) > 1 else name


def _shape_errors(value: str, shape: re.Pattern[str], limit: int, refusal: str) -> list[str]:
    errors = []
    if len(value) > limit:
        errors.append(f"must be no more than {limit} bytes")
    if not shape.fullmatch(value):
        errors.append(refusal)
    return errors


def dns_label_errors(value: str) -> list[str]:
    return _shape_errors(value, DNS_LABEL, LABEL_LIMIT, NOT_A_LABEL)


def dns_subdomain_errors(value: str) -> list[str]:
    return _shape_errors(value, DNS_SUBDOMAIN, SUBDOMAIN_LIMIT, NOT_A_SUBDOMAIN)


def qualified_name_errors(value: str) -> list[str]:
    """Label and annotation keys, finalizers: `[prefix/]name`."""
    prefix, slash, name = value.rpartition("/")
    errors = []
    if "/" in prefix:
        return [NOT_QUALIFIED]
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif prefix:
        errors += [f"prefix part {error}" for error in dns_subdomain_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > LABEL_LIMIT:
        errors.append(f"name part must be no more than {LABEL_LIMIT} bytes")
    if not QUALIFIED_NAME.fullmatch(name):
        errors.append(NOT_QUALIFIED)
    return errors


def label_value_errors(value: str) -> list[str]:
    return _shape_errors(value, LABEL_VALUE, LABEL_LIMIT, NOT_A_LABEL_VALUE)


def name_is_dns_subdomain(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
    return dns_subdomain_errors(_masked(name, prefix=prefix))


def name_is_dns_label(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
    return dns_label_errors(_masked(name, prefix=prefix))


def name_is_path_segment(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
    """RBAC objects: anything that can stand between two slashes of a URL."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{mark}'" for mark in "/%" if mark in name]
