"""The schemas of custom kinds, as the OpenAPI documents have them.

They say what the definition says; kind, apiVersion and metadata are those of every object.
"""

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.served_kind import CustomResource

META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def custom_schema_name(group: str, version: str, kind: str) -> str:
    """`com.example.v1.Widget` for the kind Widget of example.com/v1."""
    return ".".join((*reversed(group.split(".")), version, kind))


def custom_schemas(resource: CustomResource) -> dict[str, Document]:
    """The schemas of the kind and of its lists, by their names."""
    kind, listed = _named(resource, resource.kind), _named(resource, list_kind(resource))
    return {
        kind: _schema(resource),
        listed: {
            "type": "object",
            "description": f"{list_kind(resource)} is a list of {resource.kind}",
            "required": ["items"],
            "properties": _type_meta()
            | {
                "items": {"type": "array", "items": {"$ref": kind}},
                "metadata": {"$ref": f"{META}.ListMeta", "default": {}},
            },
            "x-kubernetes-group-version-kind": [_identity(resource, list_kind(resource))],
        },
    }


def list_kind(resource: CustomResource) -> str:
    names = resource.served.definition["status"]["acceptedNames"]
    kind: str = names.get("listKind") or f"{resource.kind}List"
    return kind


def _named(resource: CustomResource, kind: str) -> str:
    return custom_schema_name(resource.group, resource.version, kind)


def _schema(resource: CustomResource) -> Document:
    own = resource.served.schema
    properties = dict(own.get("properties") or {})
    metadata = {"$ref": f"{META}.ObjectMeta", "default": {}}
    rules = {name: value for name, value in own.items() if name != "x-kubernetes-validations"}
    return rules | {
        "properties": properties | _type_meta() | {"metadata": metadata},
        "x-kubernetes-group-version-kind": [_identity(resource, resource.kind)],
    }


def _type_meta() -> Document:
    return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


def _identity(resource: CustomResource, kind: str) -> Document:
    return {"group": resource.group, "kind": kind, "version": resource.version}
