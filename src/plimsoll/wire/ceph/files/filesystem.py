"""A file system of CephFS as the driver uses it. Every call ends within its time limit.

Short calls share one worker, one after the other; time that a call waits for its turn counts. Trees
are removed and copied by workers of their own, so that a large one, or one in a zone that is down,
holds up no other call. A worker that is late is killed, and its client fenced.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeVar

from plimsoll.wire.ceph.bindings import chosen_bindings
from plimsoll.wire.ceph.connection import CephAccess, CephLimits
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.files import messages as m
from plimsoll.wire.ceph.files.fencing import ClientFencing
from plimsoll.wire.ceph.files.metadata_servers import check_served
from plimsoll.wire.ceph.files.worker_process import WorkerProcess

A = TypeVar("A", bound=m.FileAnswer)

WORKERS = 4
"""That remove or copy trees at the same time."""
ENDED_WITHIN = timedelta(seconds=5)
DEFAULT_FILE_LIMITS = CephLimits(call=timedelta(seconds=7))
"""Callers of a driver wait for ten seconds, or a little more."""
STEP_FACTOR = 3
"""How much longer a step through a tree may take than another call."""


def _nothing(worker: WorkerProcess) -> None:
    pass


class CephFilesystem:
    """All paths begin at its root. Every method raises CephError."""

    def __init__(
        self,
        access: CephAccess,
        name: str,
        fencing: ClientFencing,
        limits: CephLimits = DEFAULT_FILE_LIMITS,
        *,
        on_start: Callable[[WorkerProcess], None] = _nothing,
    ) -> None:
        """`on_start` is told of each worker: where a test kills it."""
        self.name = name
        self._access = access
        self._fencing = fencing
        self._limits = limits
        self._on_start = on_start
        self._turn = asyncio.Lock()
        self._worker: WorkerProcess | None = None
        self._others = asyncio.Semaphore(WORKERS)

    @property
    def _where(self) -> str:
        return f"file system {self.name}"

    async def make_directory(self, path: str, *, quota_bytes: int, pool: str) -> None:
        """For a volume. One that is there gets this quota and pool."""
        await self._ask(m.MakeDirectory(path=path, quota_bytes=quota_bytes, pool=pool))

    async def set_quota(self, path: str, quota_bytes: int) -> None:
        await self._ask(m.SetQuota(path=path, quota_bytes=quota_bytes))

    async def facts(self, path: str) -> m.DirectoryFacts:
        return _as(m.DirectoryFacts, await self._ask(m.ReadFacts(path=path)))

    async def names(self, path: str) -> tuple[str, ...]:
        """In a directory; none if there is no such directory."""
        return _as(m.FoundNames, await self._ask(m.ListNames(path=path))).names

    async def move(self, path: str, to: str) -> None:
        await self._ask(m.MoveDirectory(path=path, to=to))

    async def make_link(self, path: str, text: str) -> None:
        await self._ask(m.MakeLink(path=path, text=text))

    async def read_link(self, path: str) -> str:
        """Empty: there is none."""
        found = _as(m.FoundNames, await self._ask(m.ReadLink(path=path))).names
        return found[0] if found else ""

    async def remove_link(self, path: str) -> None:
        await self._ask(m.RemoveLink(path=path))

    async def take_snapshot(self, path: str, name: str) -> None:
        await self._ask(m.MakeSnapshot(path=path, name=name))

    async def remove_snapshot(self, path: str, name: str) -> None:
        await self._ask(m.RemoveSnapshot(path=path, name=name))

    async def remove_tree(self, path: str) -> None:
        """A directory that has snapshots stays, and is empty. That there is none is no error."""
        request = m.RemoveSome(path=path)
        # A small one is gone with the first step, which costs no process of its own.
        if not _as(m.StepDone, await self._ask(request)).is_last:
            await self._step_by_step(request)

    async def copy_tree(self, source: str, target: str) -> None:
        """Of a source that does not change; the target is a directory. Goes on where it ended."""
        await self._step_by_step(m.CopySome(path=source, to=target))

    async def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await self._end(worker)

    async def _ask(self, request: m.Request) -> m.Answer:
        try:
            async with asyncio.timeout(self._limits.call.total_seconds()), self._turn:
                return await self._on_shared(request)
        except TimeoutError as error:
            await self._fencing.try_enforce()
            raise self._timed_out() from error

    async def _on_shared(self, request: m.Request) -> m.Answer:
        if self._worker is None:
            self._worker = await self._started()
        worker, is_fenced = self._worker, False
        try:
            return await worker.ask(request)
        except CephError as error:
            is_fenced = error.failure is CephFailure.FENCED
            raise
        finally:
            if is_fenced or not worker.is_usable:
                self._worker = None
                self._kill(worker)

    async def _step_by_step(self, request: m.RemoveSome | m.CopySome) -> None:
        async with self._others, self._own_worker() as worker:
            while not _as(m.StepDone, await self._step(worker, request)).is_last:
                pass

    async def _step(self, worker: WorkerProcess, request: m.Request) -> m.Answer:
        try:
            async with asyncio.timeout(STEP_FACTOR * self._limits.call.total_seconds()):
                return await worker.ask(request)
        except TimeoutError as error:
            raise self._timed_out() from error

    @asynccontextmanager
    async def _own_worker(self) -> AsyncIterator[WorkerProcess]:
        try:
            async with asyncio.timeout(self._limits.call.total_seconds()):
                worker = await self._started()
        except TimeoutError as error:
            raise self._timed_out() from error
        try:
            yield worker
        except asyncio.CancelledError:
            self._kill(worker)
            raise
        finally:
            await self._end(worker)

    async def _started(self) -> WorkerProcess:
        """Clients that died are fenced first: they may hold what this one is to work on."""
        await self._fencing.enforce()
        await check_served(self._fencing.connection, self.name)
        worker = await WorkerProcess.started(self._where)
        is_connected = False
        try:
            await worker.connect(self._worker_access())
            is_connected = True
        finally:
            if not is_connected:
                worker.kill()
        self._fencing.began(worker.address)
        self._on_start(worker)
        return worker

    def _worker_access(self) -> m.WorkerAccess:
        return m.WorkerAccess(
            filesystem=self.name,
            monitors=self._access.monitors,
            user=self._access.user,
            key=self._access.key,
            seconds=max(1, round(self._limits.operation.total_seconds())),
            bindings=chosen_bindings(),
        )

    async def _end(self, worker: WorkerProcess) -> None:
        if worker.is_usable and await worker.end(ENDED_WITHIN):
            self._fencing.ended(worker.address)
        else:
            self._kill(worker)
            await self._fencing.try_enforce()

    def _kill(self, worker: WorkerProcess) -> None:
        worker.kill()
        self._fencing.died(worker.address)

    def _timed_out(self) -> CephError:
        detail = "the call was given up; is a metadata server active?"
        return CephError(CephFailure.TIMED_OUT, self._where, detail)


def _as(type_: type[A], answer: m.Answer) -> A:
    if not isinstance(answer, type_):
        raise TypeError(f"a worker answered {type(answer).__name__}, not {type_.__name__}")
    return answer
