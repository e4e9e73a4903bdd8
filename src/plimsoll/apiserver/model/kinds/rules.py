"""The shape of what the API server knows of a kind beyond its schema.

A request meets these functions in this order. Create: `default`, admission, `prepare_create`,
`validate`. Update: `default`, admission, `prepare_update`, `validate_update`. Update of the status
subresource: `default`, `prepare_status`, `validate_status`; of `approval` likewise. All of them see
documents that went through `apiserver.model.schema` first: types are right, nulls and unknown
fields are gone; any key may be missing. The functions that prepare and default change the document
in place; those that validate change nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.api.names import name_is_dns_subdomain
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError


def leave(_document: Document) -> None:
    """Change nothing."""


def leave_at(_document: Document, _now: datetime) -> None:
    """Change nothing."""


def keep_status(new: Document, old: Document, _now: datetime) -> None:
    """A write to the object itself never changes its status."""
    new.pop("status", None)
    if "status" in old:
        new["status"] = old["status"]


def keep_all_but_status(new: Document, old: Document, _now: datetime) -> None:
    """A write to the status subresource changes nothing else but metadata."""
    for key in set(new) | set(old):
        if key in ("status", "metadata", "kind", "apiVersion"):
            continue
        new.pop(key, None)
        if key in old:
            new[key] = old[key]


def leave_update(_new: Document, _old: Document, _now: datetime) -> None:
    """Change nothing."""


def no_errors(_document: Document) -> Iterable[FieldError]:
    return ()


def no_update_errors(_new: Document, _old: Document) -> Iterable[FieldError]:
    return ()


def no_warnings(_new: Document, _old: Document | None) -> list[str]:
    return []


def no_fields(_document: Document) -> dict[str, str]:
    return {}


PrepareCreate = Callable[[Document, datetime], None]
Prepare = Callable[[Document, Document, datetime], None]
ValidateUpdate = Callable[[Document, Document], Iterable[FieldError]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRules:
    default: Callable[[Document], None] = leave
    """Fill in what the API promises to fill in."""
    prepare_create: PrepareCreate = leave_at
    """Reset what a client may not set: status, generation."""
    prepare_update: Prepare = leave_update
    """(new, old, now): carry over what a client may not change through this endpoint."""
    prepare_status: Prepare = keep_all_but_status
    validate: Callable[[Document], Iterable[FieldError]] = no_errors
    """Everything but metadata, which is checked for all kinds alike."""
    validate_update: ValidateUpdate = no_update_errors
    """(new, old): the rules of `validate` that still hold on update, and immutability."""
    validate_status: ValidateUpdate = no_update_errors
    prepare_approval: Prepare = keep_all_but_status
    """The same for the subresource `approval`, which certificate signing requests have."""
    validate_approval: ValidateUpdate = no_update_errors
    parts: Mapping[str, tuple[Prepare, ValidateUpdate]] = field(default_factory=dict)
    """The same for other subresources that are a part of the object, by their names."""
    warnings: Callable[[Document, Document | None], list[str]] = no_warnings
    """(new, old or None on create): what clients should be told without refusing the request."""
    name_errors: Callable[[str, bool], list[str]] = name_is_dns_subdomain
    """(name, is a generateName prefix): why the name is not allowed; empty when it is."""
    selectable_fields: Callable[[Document], dict[str, str]] = no_fields
    """Fields that fieldSelector may name, besides metadata.name and metadata.namespace. Every
    document has all of them, an empty one as well."""
    has_generation: bool = False
    """metadata.generation is 1 on create and counts changes of spec."""
    generation_stays: bool = False
    """The generation is 1 for ever: changes are not counted."""
    counts_annotations: bool = False
    """The generation counts changes of annotations as well."""
    counts_status: bool = False
    """The generation counts changes of the status as well: no endpoint of its own changes it."""
    unconditional_update: bool = True
    """A PUT without resourceVersion is accepted."""
    create_on_update: bool = False
    """A PUT to a name that does not exist creates it."""
    plain_finalizers: bool = False
    """Finalizers without a domain are accepted."""
    completed_by_update: bool = False
    """New objects are stored without the defaults of their status, which are shown all the same.
    The first update stores them, and so is a change even if it asks for none."""
    returns_deleted: bool = False
    """DELETE answers with the object, not with a Status."""
    owns_others: bool = True
    """Objects of the kind can own others; a deletion may then orphan those or wait for them."""
    orphans_by_default: bool = False
    """A deletion that says nothing about the objects that this one owns leaves them alone."""
    deletion_warning: str = ""
    """What clients are told that delete without saying so."""
    name_checked_on_update: bool = False
    """A generateName that an update brings must still be one that the kind could have."""
    is_custom: bool = False
    """Served as if a CustomResourceDefinition had brought it: there is no strategic patch."""

    @property
    def selectable_names(self) -> frozenset[str]:
        return frozenset(self.selectable_fields({}))

    def for_update(self, subresource: str) -> tuple[Prepare, ValidateUpdate]:
        """How an update through this endpoint is prepared and validated."""
        match subresource:
            case "status":
                return self.prepare_status, self.validate_status
            case "approval":
                return self.prepare_approval, self.validate_approval
            case _:
                whole = self.prepare_update, self.validate_update
                return self.parts.get(subresource, whole)
