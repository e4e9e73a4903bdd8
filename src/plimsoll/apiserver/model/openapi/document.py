"""OpenAPI v3 documents made from the table of kinds, one per group version.

kubectl reads them for `explain`, `diff` and to learn that the server validates fields; fuzzers
read them to know what to send. A document holds the paths of its group version and the schemas
that these reach. Documents are built when asked for: keep them, they are large.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.model.custom.open_api import custom_schemas
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.openapi.paths import META, resource_paths, schema_names
from plimsoll.apiserver.model.openapi.prose import DESCRIPTIONS

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


def index(resources: Iterable[Resource]) -> Document:
    """`/openapi/v3`: where the documents are. The hash changes whenever a document does."""
    by_path: dict[str, list[Resource]] = {}
    for resource in resources:
        by_path.setdefault(resource.group_version_path, []).append(resource)
    return {
        "paths": {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_fingerprint(tuple(served))}"}
            for path, served in by_path.items()
        }
    }


def find_document(resources: Iterable[Resource], group_version_path: str) -> Document | None:
    """`/openapi/v3/<path>`, where the path is `api/v1` or `apis/<group>/<version>`."""
    served = [r for r in resources if r.group_version_path == group_version_path]
    return _document(served) if served else None


def whole_document(resources: tuple[Resource, ...]) -> Document:
    """One document for all of them."""
    return _document(resources)


@lru_cache(maxsize=256)
def _fingerprint(served: tuple[Resource, ...]) -> str:
    return hashlib.sha256(msgspec.json.encode(_document(served))).hexdigest().upper()


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
