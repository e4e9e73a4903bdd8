"""Paths and operations of one resource in an OpenAPI v3 document."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from plimsoll.api.registry import Document, Resource, Subresource
from plimsoll.apiserver.model.custom.open_api import custom_schema_name, list_kind
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.definitions import definitions

META = "io.k8s.apimachinery.pkg.apis.meta.v1"

_JSON = "application/json"
_STRATEGIC = "application/strategic-merge-patch+json"
_PATCHES: dict[str, Document] = {
    "application/json-patch+json": {"type": "array", "items": {"type": "object"}},
    "application/merge-patch+json": {"type": "object"},
    _STRATEGIC: {"type": "object"},
    "application/apply-patch+yaml": {"type": "object"},
}

_TEXT: Document = {"type": "string"}
_FLAG: Document = {"type": "boolean"}
_NUMBER: Document = {"type": "integer"}

_WRITE: dict[str, Document] = {"dryRun": _TEXT, "fieldManager": _TEXT, "fieldValidation": _TEXT}
_LIST: dict[str, Document] = {
    "allowWatchBookmarks": _FLAG,
    "continue": _TEXT,
    "fieldSelector": _TEXT,
    "labelSelector": _TEXT,
    "limit": _NUMBER,
    "resourceVersion": _TEXT,
    "resourceVersionMatch": _TEXT,
    "sendInitialEvents": _FLAG,
    "timeoutSeconds": _NUMBER,
    "watch": _FLAG,
}
_DELETE: dict[str, Document] = {
    "dryRun": _TEXT,
    "gracePeriodSeconds": _NUMBER,
    "orphanDependents": _FLAG,
    "propagationPolicy": _TEXT,
}

_PARAMETERS: dict[str, dict[str, Document]] = {
    "get": {"resourceVersion": _TEXT},
    "list": _LIST,
    "create": _WRITE,
    "update": _WRITE,
    "patch": _WRITE | {"force": _FLAG},
    "delete": _DELETE,
    "deletecollection": _LIST | _DELETE,
}

# verb → (HTTP method, x-kubernetes-action, first word of the operation id)
_VERBS = {
    "get": ("get", "get", "read"),
    "list": ("get", "list", "list"),
    "create": ("post", "post", "create"),
    "update": ("put", "put", "replace"),
    "patch": ("patch", "patch", "patch"),
    "delete": ("delete", "delete", "delete"),
    "deletecollection": ("delete", "deletecollection", "deletecollection"),
}

# They upgrade the connection or answer with text: nothing that a schema could tell.
_STREAMING = ("attach", "exec", "log", "portforward", "proxy")


@dataclass(frozen=True, slots=True)
class _Kind:
    group: str
    version: str
    kind: str
    is_custom: bool = False

    @property
    def schema_name(self) -> str | None:
        if self.is_custom:
            return custom_schema_name(self.group, self.version, self.kind)
        return _schema_names_by_kind().get((self.group, self.version, self.kind))

    @property
    def document(self) -> Document:
        return {"group": self.group, "version": self.version, "kind": self.kind}


def resource_paths(resource: Resource) -> Document:
    """All paths of the resource and of its subresources."""
    kind = _kind(resource)
    paths: Document = {}
    root = f"/{resource.group_version_path}"
    home = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    collection = f"{home}/{resource.plural}"
    if resource.namespaced:
        everywhere = (v for v in resource.verbs if v == "list")
        paths[f"{root}/{resource.plural}"] = _path(resource, kind, everywhere, "ForAllNamespaces")
    in_collection = [v for v in resource.verbs if v in ("list", "create", "deletecollection")]
    of_one = [v for v in resource.verbs if v in ("get", "update", "patch", "delete")]
    paths[collection] = _path(resource, kind, in_collection, "")
    paths[f"{collection}/{{name}}"] = _path(resource, kind, of_one, "")
    for sub, sub_kind in _subresources(resource):
        paths[f"{collection}/{{name}}/{sub.name}"] = _path(
            resource, sub_kind, sub.verbs, sub.name.capitalize()
        )
    return {
        path: item | {"parameters": _path_parameters(path)} for path, item in paths.items() if item
    }


def schema_names(resource: Resource) -> Iterator[str]:
    """The schemas that the resource's operations speak of."""
    kinds = [_kind(resource), _list_kind(resource), *(k for _, k in _subresources(resource))]
    for kind in kinds:
        if kind.schema_name:
            yield kind.schema_name


@cache
def _schema_names_by_kind() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, schema in definitions().schemas.items()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
    }


def _kind(resource: Resource) -> _Kind:
    is_custom = isinstance(resource, CustomResource)
    return _Kind(resource.group, resource.version, resource.kind, is_custom)


def _list_kind(resource: Resource) -> _Kind:
    if isinstance(resource, CustomResource):
        kind = list_kind(resource)
        return _Kind(resource.group, resource.version, kind, is_custom=True)
    return _Kind(resource.group, resource.version, f"{resource.kind}List")


def _subresources(resource: Resource) -> Iterator[tuple[Subresource, _Kind]]:
    for sub in resource.subresources:
        owner = sub if sub.version else resource
        if sub.name not in _STREAMING:
            is_custom = isinstance(owner, CustomResource)
            yield sub, _Kind(owner.group, owner.version, sub.kind, is_custom)


def _path(resource: Resource, kind: _Kind, verbs: Iterable[str], suffix: str) -> Document:
    return {
        _VERBS[verb][0]: _operation(resource, kind, verb, suffix)
        for verb in verbs
        if verb in _VERBS
    }


def _operation(resource: Resource, kind: _Kind, verb: str, suffix: str) -> Document:
    _, action, word = _VERBS[verb]
    operation: Document = {
        "tags": [resource.api_version],
        "description": f"{word} {kind.kind}",
        "operationId": f"{word}{_owner_name(resource)}{suffix}",
        "parameters": [
            {"name": name, "in": "query", "schema": schema, "uniqueItems": True}
            for name, schema in _PARAMETERS[verb].items()
        ],
        "responses": _responses(resource, kind, verb),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind.document,
    }
    body = _request_body(resource, kind, verb)
    if body:
        operation["requestBody"] = body
    return operation


def _owner_name(resource: Resource) -> str:
    group = resource.group.removesuffix(".k8s.io").replace(".", " ").title().replace(" ", "")
    scope = "Namespaced" if resource.namespaced else ""
    return f"{group or 'Core'}{resource.version.capitalize()}{scope}{resource.kind}"


def _request_body(resource: Resource, kind: _Kind, verb: str) -> Document | None:
    if verb in ("create", "update"):
        return {"content": {_JSON: {"schema": _reference(kind.schema_name)}}, "required": True}
    if verb == "patch":
        left_out = _STRATEGIC if isinstance(resource, CustomResource) else ""
        content = {type_: {"schema": s} for type_, s in _PATCHES.items() if type_ != left_out}
        return {"content": content, "required": True}
    if verb in ("delete", "deletecollection"):
        return {"content": {_JSON: {"schema": _reference(f"{META}.DeleteOptions")}}}
    return None


def _responses(resource: Resource, kind: _Kind, verb: str) -> Document:
    answer: dict[str, Any]
    if verb == "list":
        answer = _reference(_list_kind(resource).schema_name)
    elif verb in ("delete", "deletecollection"):
        answer = {"type": "object"}  # the object, a list of them, or a Status
    else:
        answer = _reference(kind.schema_name)
    codes = {"create": ("200", "201", "202"), "update": ("200", "201"), "patch": ("200", "201")}
    responses: Document = {
        code: {"description": "OK", "content": {_JSON: {"schema": answer}}}
        for code in codes.get(verb, ("200", "202") if verb == "delete" else ("200",))
    }
    refusal = {"schema": _reference(f"{META}.Status")}
    return responses | {"default": {"description": "Refused", "content": {_JSON: refusal}}}


def _reference(schema_name: str | None) -> Document:
    return {"$ref": f"#/components/schemas/{schema_name}"} if schema_name else {"type": "object"}


def _path_parameters(path: str) -> list[Document]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _TEXT, "uniqueItems": True}
        for name in ("name", "namespace")
        if f"{{{name}}}" in path
    ]
