"""What of a custom resource can be owned, field by field, as its schema says."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership.compiled_schema import (
    UNTRACKED_METADATA,
    UNTRACKED_ROOT,
    compiled,
)
from plimsoll.apiserver.model.ownership.typed_paths import (
    FREE_FORM,
    FREE_OBJECT,
    LEAF,
    Members,
    PathBranch,
    PathNode,
)

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
TYPE_META = ("kind", "apiVersion")


def compiled_paths(schema: Document) -> PathBranch:
    """The node of the whole object."""
    made = _node(schema)
    branch = made if isinstance(made, PathBranch) else PathBranch()
    return PathBranch(branch.fields | _identity(), branch.rest)


def tracked_paths(whole: PathBranch) -> PathBranch:
    """The same without the fields that no manager owns."""
    fields = {name: pair for name, pair in whole.fields.items() if name not in UNTRACKED_ROOT}
    metadata = compiled(OBJECT_META)
    kept = {name: pair for name, pair in metadata.fields.items() if name not in UNTRACKED_METADATA}
    return PathBranch(fields | {"metadata": ("f:metadata", PathBranch(kept))}, whole.rest)


def _identity() -> dict[str, tuple[str, PathNode]]:
    """What every object has, whatever its schema says."""
    head: dict[str, tuple[str, PathNode]] = {name: (f"f:{name}", LEAF) for name in TYPE_META}
    return head | {"metadata": ("f:metadata", compiled(OBJECT_META))}


def _node(schema: Document) -> PathNode:
    if schema.get("x-kubernetes-int-or-string"):
        return LEAF
    match schema.get("type", ""):
        case "array":
            return _list(schema)
        case "object":
            return _object(schema)
        case "":
            return FREE_FORM
        case _:
            return LEAF


def _object(schema: Document) -> PathNode:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return LEAF
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    fields = {name: (f"f:{name}", _node(member)) for name, member in properties.items()}
    if schema.get("x-kubernetes-embedded-resource"):
        fields |= _identity()
    rest: PathNode | None = None
    if isinstance(additional, dict):
        rest = _node(additional)
    elif schema.get("x-kubernetes-preserve-unknown-fields") or additional is True:
        rest = FREE_FORM
    if not fields and rest is FREE_FORM:
        return FREE_OBJECT
    return PathBranch(fields, rest)


def _list(schema: Document) -> PathNode:
    items = schema.get("items") or {}
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return Members(_node(items))
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            members = items.get("properties") or {}
            defaults = {k: members[k]["default"] for k in keys if "default" in members.get(k, {})}
            return Members(_node(items), tuple(sorted(keys)), defaults)
        case _:
            return LEAF
