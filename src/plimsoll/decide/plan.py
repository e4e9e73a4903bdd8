"""What a decision says: the writes to make, in order, why, and when to look again.

A plan is data. The enactor carries it out and stops at the first write that does not go through.
The loop then decides again on what is observed by then, so every write must be safe to repeat.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class ResourceName:
    """Which resource a write is about: `ResourceName("", "v1", "pods")`."""

    group: str
    version: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Create an object; if one of this name exists, another writer created it first."""

    resource: ResourceName
    document: Document

    @property
    def key(self) -> ObjectKey:
        metadata = self.document["metadata"]
        return ObjectKey(metadata.get("namespace", ""), metadata.get("name", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Change an object by a merge patch.

    `version` is the resourceVersion that the decision was made on. If an earlier write of the same
    plan changed the object, the version which that write left counts instead. Empty means: whatever
    the object is by now.
    """

    resource: ResourceName
    key: ObjectKey
    patch: Document
    version: str = ""
    uid: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete an object if it is still the one that was seen; one that is gone counts as deleted."""

    resource: ResourceName
    key: ObjectKey
    uid: str = ""
    version: str = ""
    grace_seconds: int | None = None
    propagation: str = "Background"


@dataclass(frozen=True, slots=True, kw_only=True)
class Emit:
    """Tell a user about an object by an event."""

    regarding: Document
    """The object, at least its kind, apiVersion and metadata."""
    type: EventType
    reason: str
    message: str
    reporter: str = ""
    """Who tells it; empty: the process that enacts the plan."""


Write = Create | Patch | Delete | Emit


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    reason: str
    """Why, as an enum value of the deciding module; logged, and documented with the loop."""
    writes: tuple[Write, ...] = ()
    recheck_after: timedelta | None = None
    """Look again after this time even if nothing is seen to change."""
    wake: tuple[ObjectKey, ...] = field(default=())
    """Other objects of the same loop that should be decided anew."""


NOTHING = Plan(reason="NothingToDo")
