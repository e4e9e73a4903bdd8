"""A version of a custom kind as the server serves it: its names, its schema, its rules.

Made of an established definition. The schema is compiled when the first object is read with it;
after that, everything that a handler asks for is there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from plimsoll.api.patch.documents import CONTAINERS, MAX_DEPTH
from plimsoll.api.registry import Document, Resource, Subresource
from plimsoll.apiserver.model.custom import pruning
from plimsoll.apiserver.model.custom.columns import AGE
from plimsoll.apiserver.model.custom.effort import Effort
from plimsoll.apiserver.model.custom.nodes import SchemaNode, compiled_schema
from plimsoll.apiserver.model.custom.ownership import compiled_paths, tracked_paths
from plimsoll.apiserver.model.custom.rules import CustomRules
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.ownership.endpoint import Endpoint
from plimsoll.apiserver.model.ownership.field_set import FieldSet
from plimsoll.apiserver.model.ownership.reset_fields import SPEC_AND_METADATA, STATUS
from plimsoll.apiserver.model.scalars import SchemaError
from plimsoll.apiserver.model.schema import SchemaResult, unknown_fields
from plimsoll.apiserver.model.shapes import struct

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
PART_VERBS = ("get", "patch", "update")
MOST_SELECTED = 64
TYPE_META = ("kind", "apiVersion", "metadata")
INTEGERS_BELOW = float(1 << 63)
_COPIED = (*CONTAINERS, float)
ANYTHING: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class ServedVersion:
    """One version of a definition."""

    def __init__(self, definition: Document, version: Document) -> None:
        self.definition = definition
        self.version = version
        self._parts: Document = version.get("subresources") or {}
        self.changed_at = 0
        """Objects that were stored later are as the schema wants them."""
        self.stored: ServedVersion | None = None
        """The version in which objects are stored, if its schema is another one."""
        self._selected: dict[tuple[str, int], dict[str, str]] = {}

    @property
    def name(self) -> str:
        """Of the version."""
        named: str = self.version["name"]
        return named

    @property
    def schema(self) -> Document:
        given: Document | None = (self.version.get("schema") or {}).get("openAPIV3Schema")
        return given or ANYTHING

    @property
    def has_status(self) -> bool:
        return "status" in self._parts

    @property
    def scale(self) -> Document | None:
        """Where the numbers of its scale subresource are; None: it has none."""
        return self._parts.get("scale")

    @property
    def api_version(self) -> str:
        return f"{self.definition['spec']['group']}/{self.name}"

    @property
    def is_terminating(self) -> bool:
        return "deletionTimestamp" in self.definition["metadata"]

    @property
    def columns(self) -> list[Document]:
        """What is printed besides the name."""
        return self.version.get("additionalPrinterColumns") or [AGE]

    @property
    def selectable_paths(self) -> list[str]:
        return [each["jsonPath"] for each in self.version.get("selectableFields") or ()]

    @cached_property
    def node(self) -> SchemaNode:
        return compiled_schema(self.schema)

    @cached_property
    def rules(self) -> KindRules:
        return CustomRules(self.node, self.has_status, self.scale, self.selectable_paths).rules

    @cached_property
    def effort(self) -> Effort:
        return Effort(self.node)

    @cached_property
    def size(self) -> int:
        """Of its schema, in bytes: until it is compiled, the first document pays for that."""
        return len(msgspec.json.encode(self.schema))

    @property
    def is_compiled(self) -> bool:
        return "effort" in vars(self) and "rules" in vars(self)

    def compile(self) -> None:
        """What is made of the schema is made at once, and not by the first request that asks.

        Nothing is asked of the properties until it is there: while one of them is being made in a
        thread, no other thread could make the same one of another kind.
        """
        if self.is_compiled:
            return
        made = vars(self)
        made["node"] = node = compiled_schema(self.schema)
        rules = CustomRules(node, self.has_status, self.scale, self.selectable_paths)
        made["rules"] = rules.rules
        made["_endpoints"] = {"": self._endpoint("")}
        effort = Effort(node)
        effort.compile()
        made["effort"] = effort

    @cached_property
    def deprecation(self) -> str:
        """What clients of this version are warned of."""
        if not self.version.get("deprecated"):
            return ""
        spec = self.definition["spec"]
        said = f"{self.api_version} {spec['names']['kind']} is deprecated"
        return str(self.version.get("deprecationWarning") or said)

    def read(self, body: Document) -> SchemaResult:
        """A document of a client: what the schema knows of it, with its defaults.

        Raises SchemaError where metadata is none.
        """
        document = _copy({name: value for name, value in body.items() if name not in TYPE_META})
        gone = pruning.prune(self.node, document, is_root=True)
        unknown = [f'unknown field "{path}"' for path in gone]
        head: Document = {name: body[name] for name in body if name in ("kind", "apiVersion")}
        metadata, unknown_metadata = _read_metadata(body.get("metadata"))
        document = {**head, "metadata": metadata, **document}
        pruning.fill_in(self.node, document, is_root=True)
        return SchemaResult(document, unknown_metadata + unknown)

    def read_stored(self, document: Document) -> Document:
        """A stored document, which may be older than the schema, or of another version."""
        if self.stored is not None and self.stored is not self:
            pruning.fill_in(self.stored.node, document, is_root=True)
        pruning.prune(self.node, document, is_root=True)
        pruning.fill_in(self.node, document, is_root=True)
        return document

    def selected(self, key: str, revision: int, document: Callable[[], Document]) -> dict[str, str]:
        """The fields of a stored document that selectors know: many watches ask for the same."""
        known = self._selected.get((key, revision))
        if known is None:
            known = self.rules.selectable_fields(self.read_stored(document()))
            if len(self._selected) >= MOST_SELECTED:
                self._selected.clear()
            self._selected[key, revision] = known
        return known

    def endpoint(self, subresource: str) -> Endpoint:
        known = self._endpoints.get(subresource)
        if known is None:
            known = self._endpoints[subresource] = self._endpoint(subresource)
        return known

    @cached_property
    def _endpoints(self) -> dict[str, Endpoint]:
        return {}

    def _endpoint(self, subresource: str) -> Endpoint:
        spec = self.definition["spec"]
        whole = compiled_paths(self.schema)
        served = (f"{spec['group']}/{version['name']}" for version in spec["versions"])
        return Endpoint(
            api_version=self.api_version,
            kind=spec["names"]["kind"],
            subresource=subresource,
            whole=whole,
            tracked=tracked_paths(whole),
            nothing={},
            reset=self._reset(subresource),
            versions=frozenset(served),
        )

    def _reset(self, subresource: str) -> FieldSet:
        if subresource == "status":
            return SPEC_AND_METADATA
        return STATUS if self.has_status else {}


def _copy(value: Any, levels: int = MAX_DEPTH) -> Any:
    """Clients' documents are changed here, and looked at elsewhere as they came.

    Whole numbers are written like `3`, which all clients can read as integers, however they came.
    """
    if isinstance(value, CONTAINERS):
        if not levels:
            raise SchemaError("exceeded max depth")
        if isinstance(value, dict):
            # Most members are neither: not to call for them saves most of the time.
            return {
                name: _copy(member, levels - 1) if isinstance(member, _COPIED) else member
                for name, member in value.items()
            }
        return [_copy(m, levels - 1) if isinstance(m, _COPIED) else m for m in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < INTEGERS_BELOW:
        return int(value)
    return value


def _read_metadata(given: Any) -> tuple[Document, list[str]]:
    if given is None:
        return {}, []
    noted: list[str] = []
    try:
        metadata = struct(OBJECT_META).convert(given, noted)
    except SchemaError as error:
        raise error.within("Unstructured", "metadata") from None
    if not noted:
        return metadata, []
    found = unknown_fields(OBJECT_META, given)
    return metadata, [text.replace('"', '"metadata.', 1) for text in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomResource(Resource):
    """A resource that a definition brought."""

    served: ServedVersion

    def __hash__(self) -> int:
        return hash((self.group, self.version, self.plural))


def custom_resource(served: ServedVersion) -> CustomResource:
    """The resource of one version, by the names that were accepted."""
    spec = served.definition["spec"]
    names = served.definition["status"]["acceptedNames"]
    return CustomResource(
        group=spec["group"],
        version=served.name,
        plural=names["plural"],
        kind=names["kind"],
        singular=names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS,
        subresources=tuple(_subresources(served, names["kind"])),
        served=served,
    )


def _subresources(served: ServedVersion, kind: str) -> list[Subresource]:
    parts = []
    if served.has_status:
        parts.append(Subresource(name="status", kind=kind, verbs=PART_VERBS))
    if served.scale is not None:
        scale = Subresource(
            name="scale", kind="Scale", group="autoscaling", version="v1", verbs=PART_VERBS
        )
        parts.append(scale)
    return parts
