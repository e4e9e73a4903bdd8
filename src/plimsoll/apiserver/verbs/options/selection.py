"""Which objects a list or watch is about: namespace, name, labels, fields."""

from plimsoll.api.selectors.field import FieldSelector, parse_field_selector
from plimsoll.api.selectors.label import LabelSelector, parse_label_selector
from plimsoll.apiserver.http.requests import Query, Target
from plimsoll.apiserver.model.status import bad_request
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind

MOST_TERMS = 500
"""Conditions and values in one selector; every change of an object is compared with all of them."""
READING = 50
"""Comparisons in the time that it takes to read an object."""
SELECTORS = ("labelSelector", "fieldSelector")
META_FIELDS = frozenset({"metadata.name", "metadata.namespace"})


class ObjectSelection:
    """A predicate over records, and the prefix that all their keys share."""

    def __init__(self, kind: ResourceKind, target: Target, query: Query) -> None:
        self.prefix = target.prefix
        self._kind = kind
        self._labels = _label_selector(query.text("labelSelector"))
        self._fields = _field_selector(kind, query.text("fieldSelector"))
        self._looks_at_identity = self._fields is not None and (
            kind.reads_fields or not META_FIELDS.isdisjoint(self._fields.names)
        )
        """Whether more is asked than what is stored beside a record."""
        self._only = target.key if target.name else ""
        self._terms = 1 + sum(query.text(name).count(",") for name in SELECTORS)

    @property
    def terms(self) -> int:
        """How much there is to compare for each object."""
        reads = self._fields is not None and self._kind.reads_fields
        return self._terms * READING if reads else self._terms

    @property
    def is_everything(self) -> bool:
        """No selector: remaining items can be counted without looking at them."""
        return self._labels is None and self._fields is None

    @property
    def is_unconditional(self) -> bool:
        """All objects of the kind are meant."""
        return self.is_everything and not self.prefix and not self._only

    def matches(self, record: StoredRecord) -> bool:
        if self._only and record.key != self._only:
            return False
        if self.prefix and not record.key.startswith(self.prefix):
            return False
        if self._labels is not None and not self._labels.matches(record.labels):
            return False
        if self._fields is None:
            return True
        seen = self._all_fields(record) if self._looks_at_identity else record.fields
        return self._fields.matches(seen)

    def _all_fields(self, record: StoredRecord) -> dict[str, str]:
        namespace, slash, name = record.key.partition("/")
        if not slash:
            namespace, name = "", record.key
        fields = {"metadata.name": name, "metadata.namespace": namespace}
        if self._kind.custom is not None and self._kind.reads_fields:
            return fields | self._kind.custom.selected(record.key, record.revision, record.document)
        if self._kind.reads_fields:
            shown = self._kind.read_stored(record.document())
            return fields | self._kind.rules.selectable_fields(shown)
        return fields | record.fields if record.fields else fields


def _check_length(text: str) -> None:
    if text.count(",") >= MOST_TERMS:
        raise bad_request(f"a selector may have at most {MOST_TERMS} conditions and values")


def _label_selector(text: str) -> LabelSelector | None:
    if not text.strip():
        return None
    _check_length(text)
    try:
        return parse_label_selector(text)
    except ValueError as error:
        raise bad_request(str(error)) from error


def _field_selector(kind: ResourceKind, text: str) -> FieldSelector | None:
    if not text.strip():
        return None
    _check_length(text)
    try:
        selector = parse_field_selector(text)
    except ValueError as error:
        raise bad_request(str(error)) from error
    known = kind.rules.selectable_names | META_FIELDS
    for name in selector.names:
        if name not in known:
            raise bad_request(
                f'"{name}" is not a known field selector: only {", ".join(sorted(known))}'
            )
    return selector
