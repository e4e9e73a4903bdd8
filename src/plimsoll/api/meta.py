"""What every Kubernetes object has: a key, metadata, owners, conditions.

Structs here and in the modules beside this one mirror the wire, but hold only what Plimsoll reads:
they drop every other field, so they are read, never written back. Writes are patches. Properties
speak our language: parsed sizes, keys, enums.

Times are `datetime` with a time zone. To write one, use `wire_time` or `wire_micro_time`: the API
refuses a MicroTime without its six decimals.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

import msgspec


class ApiStruct(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False, omit_defaults=True
):
    """Part of an API object. `gc=False`: objects are trees, no cycle can hide in them."""


class ObjectKey(NamedTuple):
    """What an object is called within its kind; the namespace is empty for cluster-wide kinds."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`: `default/data` or `node-1`."""
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Of an object as the API has it."""
        metadata = document.get("metadata") or {}
        return cls(metadata.get("namespace") or "", metadata.get("name") or "")

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(ApiStruct, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(ApiStruct, frozen=True, kw_only=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, of which there is at most one."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class ApiObject(ApiStruct, frozen=True, kw_only=True):
    """The part of an object that all kinds share."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> ObjectKey:
        # What a call of ObjectKey does: asked for so often that the call itself counts.
        metadata = self.metadata
        return tuple.__new__(ObjectKey, (metadata.namespace, metadata.name))

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> Mapping[str, str]:
        return self.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.metadata.annotations

    @property
    def is_being_deleted(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class Condition(ApiStruct, frozen=True, kw_only=True):
    """A named observation. `status` is True, False or Unknown, as text."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: datetime | None = None
    last_probe_time: datetime | None = None
    last_heartbeat_time: datetime | None = None
    """Of a node's condition: when its agent last said so."""

    @property
    def holds(self) -> bool:
        return self.status == "True"


def find_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    for condition in conditions:  # a plain loop: asked of every pod and node, again and again
        if condition.type == type_:
            return condition
    return None


class ObjectReference(ApiStruct, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.namespace, self.name)


def wire_time(at: datetime) -> str:
    """A metav1.Time: whole seconds."""
    return _in_utc(at, "seconds")


def wire_micro_time(at: datetime) -> str:
    """A metav1.MicroTime: always six decimals."""
    return _in_utc(at, "microseconds")


def _in_utc(at: datetime, timespec: str) -> str:
    """As the API writes times, to the given unit."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec)}Z"
