"""What tracking has to know of a resource, or of one of its subresources; made once for each."""

from dataclasses import dataclass
from functools import cache

from plimsoll.api.registry import Document, Resource, all_resources
from plimsoll.apiserver.model.ownership import compiled_schema
from plimsoll.apiserver.model.ownership.field_set import FieldSet
from plimsoll.apiserver.model.ownership.reset_fields import reset_fields
from plimsoll.apiserver.model.ownership.typed_paths import PathBranch
from plimsoll.apiserver.model.schema import schema_name
from plimsoll.apiserver.model.shapes import struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    api_version: str
    kind: str
    subresource: str
    whole: PathBranch
    """The kind's fields, all of them."""
    tracked: PathBranch
    """The kind's fields that can be owned."""
    nothing: Document
    """A new object of which no field has been set."""
    reset: FieldSet
    """What writes through this endpoint cannot change."""
    versions: frozenset[str]
    """Versions of the API in which the kind is known."""


@cache
def endpoint(resource: Resource, subresource: str = "") -> Endpoint:
    schema = schema_name(resource.group, resource.version, resource.kind)
    return Endpoint(
        api_version=resource.api_version,
        kind=resource.kind,
        subresource=subresource,
        whole=compiled_schema.compiled(schema),
        tracked=compiled_schema.tracked(schema),
        nothing=struct(schema).zero(),
        reset=reset_fields(resource, subresource),
        versions=frozenset(r.api_version for r in all_resources() if r.kind == resource.kind),
    )
