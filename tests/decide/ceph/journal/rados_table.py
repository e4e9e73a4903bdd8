"""RADOS in memory: pools with objects and images, and a fault at the operation that a test names.

Operations behave as librados does: an exclusive creation fails where the object is, setting a key
creates it, comparing or removing one on a missing object fails, and an absent key equals an empty
value.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import TypeVar

from plimsoll.decide.ceph.journal.operations import (
    FindPoolName,
    ObjectCreation,
    RadosAnswer,
    RadosObject,
    RadosOperation,
    RadosProblem,
    ReadKeys,
    RemoveImage,
    RemoveRadosObject,
    WriteRadosObject,
)

T = TypeVar("T")

Objects = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeImage:
    """What a driver does between the steps of the journal."""

    pool: str
    name: str


TableOperation = RadosOperation | MakeImage
TableSteps = Generator[TableOperation, RadosAnswer, T]


class Fault(StrEnum):
    """What happens to an operation."""

    CRASH_BEFORE = "CrashBefore"
    CRASH_AFTER = "CrashAfter"
    FAIL_BEFORE = "FailBefore"
    FAIL_AFTER = "FailAfter"
    """It takes effect, and the answer is lost."""

    @property
    def takes_effect(self) -> bool:
        return self in (Fault.CRASH_AFTER, Fault.FAIL_AFTER)

    @property
    def is_crash(self) -> bool:
        return self in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)


class CrashedError(Exception):
    """The process that ran the steps is gone."""


def failed(problem: RadosProblem) -> RadosAnswer:
    return RadosAnswer(problem=problem)


@dataclass(slots=True)
class RadosTable:
    pools: Mapping[str, int]
    objects: dict[str, Objects] = field(default_factory=dict)
    """By pool; the name of an object in a namespace begins with that and a bar."""
    images: set[tuple[str, str]] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    """Pools that answer nothing but errors."""
    carried_out: list[TableOperation] = field(default_factory=list)

    def run(
        self,
        steps: TableSteps[T],
        *,
        fail_at: int | None = None,
        fault: Fault = Fault.FAIL_BEFORE,
    ) -> T:
        """What the steps come to; the fault happens to the n-th operation. Raises CrashedError."""
        try:
            operation = next(steps)
            for number in count(1):
                self.carried_out.append(operation)
                answer = (
                    self._with(fault, operation) if number == fail_at else self.answer(operation)
                )
                operation = steps.send(answer)
        except StopIteration as end:
            found: T = end.value
            return found
        raise AssertionError

    def _with(self, fault: Fault, operation: TableOperation) -> RadosAnswer:
        if fault.takes_effect:
            self.answer(operation)
        if fault.is_crash:
            raise CrashedError
        return failed(RadosProblem.FAILED)

    def answer(self, operation: TableOperation) -> RadosAnswer:
        if isinstance(operation, FindPoolName):
            return self._pool_name(operation)
        if isinstance(operation, (RemoveImage, MakeImage)):
            pool = operation.pool
        else:
            pool = operation.object.pool
        if pool not in self.pools:
            return failed(RadosProblem.POOL_NOT_FOUND)
        if pool in self.down:
            return failed(RadosProblem.FAILED)
        match operation:
            case ReadKeys():
                return self._read(operation)
            case WriteRadosObject():
                return self._write(operation)
            case RemoveRadosObject():
                return self._remove(operation)
            case MakeImage():
                self.images.add((pool, operation.name))
                return RadosAnswer()
            case RemoveImage():
                self.images.discard((pool, operation.name))
                return RadosAnswer()

    def _pool_name(self, wanted: FindPoolName) -> RadosAnswer:
        names = [name for name, pool_id in self.pools.items() if pool_id == wanted.pool_id]
        return RadosAnswer(pool=names[0]) if names else failed(RadosProblem.POOL_NOT_FOUND)

    def _read(self, read: ReadKeys) -> RadosAnswer:
        found = self._pool(read.object).get(_name(read.object))
        if found is None:
            return failed(RadosProblem.NOT_FOUND)
        if read.prefix:
            return RadosAnswer(
                values={key: found[key] for key in sorted(found) if key.startswith(read.prefix)}
            )
        return RadosAnswer(values={key: found[key] for key in read.keys if key in found})

    def _write(self, write: WriteRadosObject) -> RadosAnswer:
        objects, name = self._pool(write.object), _name(write.object)
        found = objects.get(name)
        if write.creation is ObjectCreation.EXCLUSIVE and found is not None:
            return failed(RadosProblem.EXISTS)
        must_exist = write.creation is ObjectCreation.IMPLIED and (write.expected or write.removed)
        if found is None and must_exist:
            return failed(RadosProblem.NOT_FOUND)
        before = found or {}
        if any(before.get(key, "") != value for key, value in write.expected.items()):
            return failed(RadosProblem.CHANGED)
        after = before | dict(write.values)
        objects[name] = {key: value for key, value in after.items() if key not in write.removed}
        return RadosAnswer()

    def _remove(self, remove: RemoveRadosObject) -> RadosAnswer:
        gone = self._pool(remove.object).pop(_name(remove.object), None)
        return failed(RadosProblem.NOT_FOUND) if gone is None else RadosAnswer()

    def _pool(self, object_: RadosObject) -> Objects:
        return self.objects.setdefault(object_.pool, {})


def _name(object_: RadosObject) -> str:
    return f"{object_.namespace}|{object_.name}" if object_.namespace else object_.name
