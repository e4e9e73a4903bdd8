"""The steps of the journal, carried out on a cluster.

Which operations there are, and in what order, `decide.ceph.journal` decides. Here each is one call
to RADOS, which compares and sets in one go.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar, assert_never

from plimsoll.decide.ceph.journal.operations import (
    FindPoolName,
    JournalProblem,
    ObjectCreation,
    RadosAnswer,
    RadosObject,
    RadosOperation,
    RadosProblem,
    RadosSteps,
    ReadKeys,
    RemoveImage,
    RemoveRadosObject,
    WriteRadosObject,
)
from plimsoll.processes.driver.backends.ceph.silent_pools import SilentPools
from plimsoll.runtime.clock import Clock
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.objects import Creating, ObjectWrite, RadosObjects

T = TypeVar("T")

RemoveLeftover = Callable[[RemoveImage], Awaitable[None]]
"""Removes an image, or a directory, by its name. Raises CephError."""

PROBLEM_BY_FAILURE = {
    CephFailure.NOT_FOUND: RadosProblem.NOT_FOUND,
    CephFailure.EXISTS: RadosProblem.EXISTS,
    CephFailure.CHANGED: RadosProblem.CHANGED,
    CephFailure.POOL_NOT_FOUND: RadosProblem.POOL_NOT_FOUND,
}

CREATING = {
    ObjectCreation.EXCLUSIVE: Creating.EXCLUSIVE,
    ObjectCreation.IDEMPOTENT: Creating.IDEMPOTENT,
    ObjectCreation.IMPLIED: Creating.IMPLIED,
}


class JournalError(Exception):
    """The steps ended without what they were for."""

    def __init__(self, problem: JournalProblem, cause: CephError | None) -> None:
        super().__init__(f"{problem}: {cause}" if cause else str(problem))
        self.problem = problem
        self.cause = cause
        """What Ceph said last, if that was an error."""


def _nothing(operation: RadosOperation) -> None:
    pass


class JournalRunner:
    def __init__(
        self,
        connection: CephConnection,
        remove: RemoveLeftover,
        clock: Clock,
        *,
        on_operation: Callable[[RadosOperation], None] = _nothing,
    ) -> None:
        """`on_operation` is called before and after each: where a test lets the process die."""
        self._connection = connection
        self._remove = remove
        self.silent_pools = SilentPools(clock)
        """Where an operation, or what was made for one, has timed out."""
        self.on_operation = on_operation

    async def run(self, steps: RadosSteps[T | JournalProblem]) -> T:
        """What the steps come to. Raises JournalError."""
        cause: CephError | None = None
        try:
            operation = next(steps)
            while True:
                answer, cause = await self._answer(operation)
                operation = steps.send(answer)
        except StopIteration as end:
            found: T | JournalProblem = end.value
            return _checked(found, cause)

    async def _answer(self, operation: RadosOperation) -> tuple[RadosAnswer, CephError | None]:
        self.on_operation(operation)
        try:
            answer = await self._carried_out(operation)
        except CephError as error:
            if pool := _pool_of(operation):
                self.silent_pools.note(pool, error)
            problem = PROBLEM_BY_FAILURE.get(error.failure, RadosProblem.FAILED)
            return RadosAnswer(problem=problem), error
        self.on_operation(operation)
        return answer, None

    async def _carried_out(self, operation: RadosOperation) -> RadosAnswer:
        match operation:
            case ReadKeys():
                return await self._read(operation)
            case WriteRadosObject():
                await self._objects(operation.object).write(
                    operation.object.name, _write(operation)
                )
            case RemoveRadosObject():
                await self._objects(operation.object).remove(operation.object.name)
            case FindPoolName():
                return await self._pool_name(operation.pool_id)
            case RemoveImage():
                await self._remove(operation)
            case _:
                assert_never(operation)
        return RadosAnswer()

    async def _read(self, read: ReadKeys) -> RadosAnswer:
        objects, name = self._objects(read.object), read.object.name
        if read.prefix:
            return RadosAnswer(values=await objects.keys_from(name, read.prefix))
        return RadosAnswer(values=await objects.keys(name, read.keys))

    async def _pool_name(self, pool_id: int) -> RadosAnswer:
        """Always asked of monitors: a pool of the same name may have been made anew."""
        names = {id_: name for name, id_ in (await self._connection.pool_ids()).items()}
        if pool_id not in names:
            return RadosAnswer(problem=RadosProblem.POOL_NOT_FOUND)
        return RadosAnswer(pool=names[pool_id])

    def _objects(self, object_: RadosObject) -> RadosObjects:
        scope = PoolScope(pool=object_.pool, namespace=object_.namespace)
        return RadosObjects(self._connection, scope)


def _pool_of(operation: RadosOperation) -> str:
    """Empty: it is asked of monitors."""
    match operation:
        case ReadKeys() | WriteRadosObject() | RemoveRadosObject():
            return operation.object.pool
        case RemoveImage():
            return operation.pool
        case FindPoolName():
            return ""
        case _:
            assert_never(operation)


def _checked(found: T | JournalProblem, cause: CephError | None) -> T:
    if isinstance(found, JournalProblem):
        raise JournalError(found, cause)
    return found


def _write(write: WriteRadosObject) -> ObjectWrite:
    return ObjectWrite(
        creating=CREATING[write.creation],
        expected=write.expected,
        values=write.values,
        removed=write.removed,
    )
