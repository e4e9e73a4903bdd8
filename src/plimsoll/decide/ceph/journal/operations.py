"""What the steps of the journal ask of RADOS, and what they are answered."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RadosObject:
    pool: str
    name: str
    namespace: str = ""


class ObjectCreation(StrEnum):
    EXCLUSIVE = "Exclusive"
    """The object must not exist yet."""
    IDEMPOTENT = "Idempotent"
    """It may exist."""
    IMPLIED = "Implied"
    """Setting a key creates it; comparing or removing one needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadKeys:
    """Answered with the values of those keys that are there, or of all that begin with `prefix`."""

    object: RadosObject
    keys: tuple[str, ...] = ()
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRadosObject:
    """All of it, or nothing: compare keys first, then set and remove."""

    object: RadosObject
    creation: ObjectCreation = ObjectCreation.IMPLIED
    expected: Mapping[str, str] = field(default_factory=dict)
    """Values that keys must have; empty: the key must not be there."""
    values: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRadosObject:
    object: RadosObject


@dataclass(frozen=True, slots=True, kw_only=True)
class FindPoolName:
    """Answered with the name of the pool."""

    pool_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveImage:
    """Of an attempt that was given up. That there is no such image is no problem."""

    pool: str
    name: str
    namespace: str = ""


RadosOperation = ReadKeys | WriteRadosObject | RemoveRadosObject | FindPoolName | RemoveImage


class RadosProblem(StrEnum):
    NOT_FOUND = "NotFound"
    EXISTS = "Exists"
    CHANGED = "Changed"
    """A key does not have the expected value."""
    POOL_NOT_FOUND = "PoolNotFound"
    FAILED = "Failed"
    """Anything else; the operation may have been carried out or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RadosAnswer:
    problem: RadosProblem | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    pool: str = ""


RadosSteps = Generator[RadosOperation, RadosAnswer, T]


class JournalProblem(StrEnum):
    """Why steps ended without what they were for."""

    IO_ERROR = "IOError"
    OBJECT_EXISTS = "ObjectExists"
    KEY_NOT_FOUND = "KeyNotFound"
    POOL_NOT_FOUND = "PoolNotFound"
    CHANGED = "Changed"
    """Another call for the same request wins again and again."""
    BAD_IMAGE_NAME = "BadImageName"
    BAD_POOL_ID = "BadPoolID"
    REQUEST_NAME_MISMATCH = "RequestNameMismatch"
    """The directory points to an image that belongs to another request."""
    BAD_RECORD = "BadRecord"
    """A record that a newer version wrote, or that is broken."""
    ENCRYPTION_MISMATCH = "EncryptionMismatch"
    SNAPSHOT_NAME_CONFLICT = "SnapshotNameConflict"
    """There is a snapshot of that name, of another source."""
    SNAPSHOTS_ONLY = "SnapshotsOnly"
    """Only snapshots have a source."""


PROBLEMS = {
    RadosProblem.NOT_FOUND: JournalProblem.KEY_NOT_FOUND,
    RadosProblem.EXISTS: JournalProblem.OBJECT_EXISTS,
    RadosProblem.CHANGED: JournalProblem.CHANGED,
    RadosProblem.POOL_NOT_FOUND: JournalProblem.POOL_NOT_FOUND,
    RadosProblem.FAILED: JournalProblem.IO_ERROR,
}
