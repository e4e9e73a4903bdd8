"""Secrets: like config maps, encoded, and with rules by type."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.config.config_map import (
    SIZE_LIMIT,
    data_errors,
    decoded_size,
    fill_empty,
    frozen_errors,
)
from plimsoll.apiserver.model.kinds.object_meta import IMMUTABLE
from plimsoll.apiserver.model.kinds.rules import KindRules

TOKEN = "kubernetes.io/service-account-token"  # noqa: S105  (a type's name)
ACCOUNT_NAME = "kubernetes.io/service-account.name"
TLS = "kubernetes.io/tls"
JSON_KEY_BY_TYPE = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
ANY_KEY_BY_TYPE = {"kubernetes.io/basic-auth": ("username", "password")}
"""At least one of these keys."""
ALL_KEYS_BY_TYPE = {TLS: ("tls.crt", "tls.key")}
FILLED_KEY_BY_TYPE = {"kubernetes.io/ssh-auth": "ssh-privatekey"}


def default(secret: Document) -> None:
    if not secret.get("type"):
        secret["type"] = "Opaque"
    fill_empty(secret, "data")
    _encode_plain_text(secret)


def _encode_plain_text(secret: Document) -> None:
    """`stringData` is a way to write `data`; no client ever reads it back."""
    for key, text in secret.pop("stringData", {}).items():
        secret.setdefault("data", {})[key] = b64encode(text.encode()).decode()


def prepare_update(new: Document, old: Document, _now: datetime) -> None:
    if not new.get("type"):
        new["type"] = old.get("type", "")


def validate(secret: Document) -> Iterator[FieldError]:
    data = secret.get("data", {})
    yield from data_errors(data, "data")
    if decoded_size(data) > SIZE_LIMIT:
        yield FieldError.too_long("data", SIZE_LIMIT)
    yield from _type_errors(secret)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    if new.get("type") != old.get("type"):
        yield FieldError.invalid("type", new.get("type"), IMMUTABLE)
    yield from frozen_errors(new, old, ("data",))
    yield from validate(new)


def _type_errors(secret: Document) -> Iterator[FieldError]:
    kind, data = secret.get("type", ""), secret.get("data", {})
    if kind == TOKEN and not secret["metadata"].get("annotations", {}).get(ACCOUNT_NAME):
        yield FieldError.required(f"metadata.annotations[{ACCOUNT_NAME}]")
    if kind in JSON_KEY_BY_TYPE:
        yield from _json_errors(data, JSON_KEY_BY_TYPE[kind])
    wanted = ANY_KEY_BY_TYPE.get(kind, ())
    if not any(key in data for key in wanted):
        yield from (FieldError.required(f"data[{key}]") for key in wanted)
    for key in ALL_KEYS_BY_TYPE.get(kind, ()):
        if key not in data:
            yield FieldError.required(f"data[{key}]")
    filled = FILLED_KEY_BY_TYPE.get(kind)
    if filled and not data.get(filled):
        yield FieldError.required(f"data[{filled}]")


def _json_errors(data: Document, key: str) -> Iterator[FieldError]:
    if key not in data:
        yield FieldError.required(f"data[{key}]")
        return
    try:
        content = json.loads(b64decode(data[key]))
    except ValueError:
        content = ()
    if content is not None and not isinstance(content, dict):
        yield FieldError.invalid(
            f"data[{key}]", "<secret contents redacted>", "must be a JSON object"
        )


def warnings(secret: Document, _old: Document | None) -> list[str]:
    """A pair that no server could use is stored, but not in silence."""
    if secret.get("type") != TLS:
        return []
    data = secret.get("data", {})
    certificate, key = (b64decode(data.get(name, "")) for name in ALL_KEYS_BY_TYPE[TLS])
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        return ["tls: failed to find any PEM data in certificate input"]
    if b"PRIVATE KEY-----" not in key:
        return ["tls: failed to find any PEM data in key input"]
    return []


def selectable_fields(secret: Document) -> dict[str, str]:
    return {"type": secret.get("type", "")}


RULES = KindRules(
    default=default,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    selectable_fields=selectable_fields,
    name_checked_on_update=True,
)
