"""From the schema of a kind to the nodes that say what of it can be owned; done once."""

from functools import cache

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.ownership.typed_paths import (
    FREE_FORM,
    FREE_OBJECT,
    LEAF,
    Members,
    PathBranch,
    PathNode,
)

RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"

UNTRACKED_ROOT = frozenset({"kind", "apiVersion"})
UNTRACKED_METADATA = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
"""Fields that identify an object or that the server decides about: no manager owns them."""


@cache
def compiled(schema_name: str) -> PathBranch:
    """The node of a kind."""
    node = _named(schema_name, "")
    if not isinstance(node, PathBranch):
        raise TypeError(f"{schema_name} is not a kind")
    return node


@cache
def tracked(schema_name: str) -> PathBranch:
    """The same without the fields that no manager owns."""
    whole = compiled(schema_name)
    fields = {name: pair for name, pair in whole.fields.items() if name not in UNTRACKED_ROOT}
    element, metadata = fields["metadata"]
    if isinstance(metadata, PathBranch):
        kept = {n: pair for n, pair in metadata.fields.items() if n not in UNTRACKED_METADATA}
        fields["metadata"] = (element, PathBranch(kept))
    return PathBranch(fields, whole.rest)


_made: dict[tuple[str, str], PathNode] = {}


def _named(name: str, map_type: str) -> PathNode:
    """`map_type`: what the place that refers to the schema says about it, which counts more."""
    known = _made.get((name, map_type))
    if known is not None:
        return known
    schema = definitions().schemas[name]
    if map_type:
        schema = schema | {"x-kubernetes-map-type": map_type}
    if name == RAW_EXTENSION or not _is_granular_struct(schema):
        node = LEAF if name == RAW_EXTENSION else _node(schema)
        _made[name, map_type] = node
        return node
    # Known before its fields are, since it may occur in itself.
    branch = PathBranch()
    _made[name, map_type] = branch
    branch.fields.update(_fields(schema))
    return branch


def _is_granular_struct(schema: Document) -> bool:
    return "properties" in schema and schema.get("x-kubernetes-map-type") != "atomic"


def _fields(schema: Document) -> dict[str, tuple[str, PathNode]]:
    return {name: (f"f:{name}", _node(member)) for name, member in schema["properties"].items()}


def _node(schema: Document) -> PathNode:
    if "$ref" in schema:
        return _named(schema["$ref"], schema.get("x-kubernetes-map-type", ""))
    match schema.get("type", ""):
        case "array":
            return _list(schema)
        case "object":
            return _object(schema)
        case "" if "oneOf" not in schema:
            return FREE_FORM
        case _:
            return LEAF


def _object(schema: Document) -> PathNode:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return LEAF
    if "properties" in schema:
        return PathBranch(_fields(schema))
    if "additionalProperties" in schema:
        return PathBranch(rest=_node(schema["additionalProperties"]))
    return FREE_OBJECT


def _list(schema: Document) -> PathNode:
    keys = _list_keys(schema)
    if keys is None:
        return LEAF
    item = schema["items"]
    named = definitions().schemas[item["$ref"]] if "$ref" in item else item
    members = named.get("properties", {})
    defaults = {key: members[key]["default"] for key in keys if "default" in members.get(key, {})}
    return Members(_node(item), tuple(sorted(keys)), defaults)


def _list_keys(schema: Document) -> list[str] | None:
    """The keys of the list, none for a set; None when the list is owned as a whole."""
    match schema.get("x-kubernetes-list-type"):
        case "map":
            keys: list[str] = schema["x-kubernetes-list-map-keys"]
            return keys
        case "set":
            return []
        case "atomic":
            return None
        case _:
            return _merge_keys(schema)


def _merge_keys(schema: Document) -> list[str] | None:
    """Older lists only say how they are patched."""
    if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return [key] if key else []
    return None
