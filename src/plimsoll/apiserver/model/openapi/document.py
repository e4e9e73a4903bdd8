"""OpenAPI v3 documents made from the table of kinds, one per group version.

kubectl reads them for `explain`, `diff` and to learn that the server validates fields; fuzzers
read them to know what to send. A document holds the paths of its group version and the schemas
that these reach. Documents are built when asked for: keep them, they are large.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.model.custom.open_api import custom_schemas
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.openapi.paths import META, resource_paths, schema_names
from plimsoll.apiserver.model.openapi.prose import DESCRIPTIONS
from plimsoll.apiserver.model.slices import encode_members

_INFO = {"title": "Plimsoll", "version": "v1"}
_SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "in": "header",
        "name": "authorization",
        "description": "The word Bearer and a token.",
    },
}
_ALWAYS_NEEDED = (f"{META}.Status", f"{META}.DeleteOptions")


class Fingerprints:
    """Of the documents. Each is kept as long as the same resources are served at its path."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[Resource, ...], str]] = {}

    def index(self, resources: Iterable[Resource]) -> Document:
        """`/openapi/v3`: where the documents are. The hash changes whenever a document does."""
        by_path: dict[str, list[Resource]] = {}
        for resource in resources:
            by_path.setdefault(resource.group_version_path, []).append(resource)
        self._known = {path: self._of(path, tuple(served)) for path, served in by_path.items()}
        return {
            "paths": {
                path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
                for path, (_, digest) in self._known.items()
            }
        }

    def _of(self, path: str, served: tuple[Resource, ...]) -> tuple[tuple[Resource, ...], str]:
        known = self._known.get(path)
        if known is not None and known[0] == served:
            return known
        is_custom = any(isinstance(resource, CustomResource) for resource in served)
        return served, _digest(served) if is_custom else _builtin_digest(served)


def is_served(resources: Iterable[Resource], group_version_path: str) -> bool:
    return any(resource.group_version_path == group_version_path for resource in resources)


def find_document(resources: Iterable[Resource], group_version_path: str) -> Document | None:
    """`/openapi/v3/<path>`, where the path is `api/v1` or `apis/<group>/<version>`."""
    served = [r for r in resources if r.group_version_path == group_version_path]
    return _document(served) if served else None


def whole_document(resources: tuple[Resource, ...]) -> Document:
    """One document for all of them."""
    return _document(resources)


@cache
def _builtin_digest(served: tuple[Resource, ...]) -> str:
    return _digest(served)


def _digest(served: tuple[Resource, ...]) -> str:
    return hashlib.sha256(encode_members(_document(served))).hexdigest().upper()


def _document(served: Sequence[Resource]) -> Document:
    paths: Document = {}
    for resource in served:
        paths |= resource_paths(resource)
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths,
        "components": {"schemas": _schemas(served), "securitySchemes": _SECURITY},
        "security": [{"BearerToken": []}],
    }


def _schemas(served: Sequence[Resource]) -> Document:
    custom = _custom(served)
    known = definitions().schemas
    return {
        name: _schema(custom[name]) if name in custom else _described(name, _schema(known[name]))
        for name in _reachable(served, custom)
    }


def _custom(served: Sequence[Resource]) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for resource in served:
        if isinstance(resource, CustomResource):
            found |= custom_schemas(resource)
    return found


def _reachable(served: Sequence[Resource], custom: dict[str, Document]) -> list[str]:
    waiting = [*_ALWAYS_NEEDED, *(name for resource in served for name in schema_names(resource))]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        schema = custom.get(name) or definitions().schemas.get(name)
        if name not in found and schema is not None:
            found.add(name)
            waiting.extend(_references(schema))
    return sorted(found)


def _references(schema: Document) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"]
    for nested in _nested(schema):
        yield from _references(nested)


def _nested(schema: Document) -> Iterator[Document]:
    yield from schema.get("properties", {}).values()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]


def _schema(schema: Document) -> Document:
    """The schema with its references pointing into this document."""
    converted = {key: _member(key, value) for key, value in schema.items() if key != "$ref"}
    if "$ref" not in schema:
        return converted
    reference = {"$ref": f"#/components/schemas/{schema['$ref']}"}
    # Readers ignore what stands beside a reference, unless the reference is wrapped.
    return {"allOf": [reference], **converted} if converted else reference


def _member(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: _schema(schema) for name, schema in value.items()}
    if key in ("items", "additionalProperties") and isinstance(value, dict):
        return _schema(value)
    return value


def _described(name: str, schema: Document) -> Document:
    """`kubectl explain` wants a description of every schema and field."""
    kind = name.rpartition(".")[2]
    schema = {"description": DESCRIPTIONS.get(kind, ""), **schema}
    for field, field_schema in schema.get("properties", {}).items():
        text = DESCRIPTIONS.get(f"{kind}.{field}", DESCRIPTIONS.get(f"*.{field}", ""))
        schema["properties"][field] = _with_description(field_schema, text)
    return schema


def _with_description(schema: Document, text: str) -> Document:
    if "$ref" in schema:
        return {"description": text, "allOf": [schema]}
    return {"description": text, **schema}
