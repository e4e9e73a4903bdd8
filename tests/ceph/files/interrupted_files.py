"""A driver for directories whose process dies at a step that a test names.

Steps are the writes to the journal and the calls of libcephfs that change something. Between two of
them the cluster stays as it is, so a death before each, and one after the last, are all that there
are. A worker that counts its steps, and stops before one of them, is shared by all drivers; else
each driver is a new one, which knows nothing of those before it.
"""

import asyncio
import errno
import importlib
import multiprocessing
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from plimsoll.decide.ceph.journal.operations import (
    RadosOperation,
    RemoveRadosObject,
    WriteRadosObject,
)
from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.ceph.class_parameters import one_cluster
from plimsoll.processes.driver.backends.cephfs.backend import CephfsBackend
from plimsoll.processes.driver.backends.cephfs.filesystem_pools import FilesystemAccess
from plimsoll.processes.driver.backends.cephfs.fuse_mounts import FuseMounts
from plimsoll.processes.driver.backends.cephfs.options import parse_cephfs_options
from plimsoll.processes.driver.core import Driver, DriverIdentity, DriverParts
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers
from plimsoll.processes.driver.settings import BackendSettings, Mounts
from plimsoll.runtime.clock import SteppedClock, SystemClock
from plimsoll.wire.ceph.connection import CephConnection, CephLimits, PoolScope
from plimsoll.wire.ceph.errors import ceph_error
from plimsoll.wire.ceph.files import messages as m
from plimsoll.wire.ceph.files.fencing import ClientAddresses, ClientFencing
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.ceph.files.worker import FileWorker, mounted as mounted_by_worker
from plimsoll.wire.ceph.objects import RadosObjects
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from tests.ceph.cluster_filesystem import FILESYSTEM, METADATA_POOL, ClusterFilesystem
from tests.ceph.connections import connected
from tests.ceph.files.cephfs_drivers import NODE, cephfs_options
from tests.ceph.files.filesystems import access, mounted
from tests.ceph.interrupted_calls import CrashedError
from tests.ceph.journal_keys import passing_keys
from tests.processes.driver.drivers import NAME, Running

UNCHANGING = frozenset(
    {
        *("stat", "statx", "readlink", "getxattr", "lgetxattr", "llistxattr", "get_addrs"),
        *("opendir", "readdir", "closedir", "read", "close", "fsync", "sync_fs"),
    }
)
"""Calls of libcephfs that leave names, layouts and content as they are."""
FOLDERS = ("volumes", "removed", "snapshots", "copies")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ATTRIBUTES = ("ceph.dir.layout.pool", "ceph.quota.max_bytes")
SHARED_OBJECTS = {"csi.volumes.default", "csi.snaps.default"}
TIME_LIMIT = timedelta(minutes=2)
"""For calls and their operations: one that is given up on a busy machine has other steps."""
LIMITS = CephLimits(operation=TIME_LIMIT, call=TIME_LIMIT)


@dataclass(slots=True)
class Death:
    """Comes before the step of that number; all that the process would do later fails as well."""

    before: int | None = None
    steps: int = 0
    is_over: bool = False
    _under_way: RadosOperation | None = None

    def arm(self, before: int | None) -> None:
        """From here on steps are counted."""
        self.before, self.steps = before, 0

    @property
    def left(self) -> int | None:
        """Before which of the steps that follow it comes."""
        return None if self.before is None else self.before - self.steps

    def check(self) -> None:
        if self.is_over:
            raise CrashedError

    def step(self) -> None:
        self.is_over = self.is_over or self.left == 1
        self.check()
        self.steps += 1

    def on_operation(self, operation: RadosOperation) -> None:
        """Called before and after each operation of the journal."""
        self.check()
        is_after, self._under_way = self._under_way is operation, operation
        if not is_after and isinstance(operation, WriteRadosObject | RemoveRadosObject):
            self.step()


@dataclass(slots=True)
class CountedCalls:
    """Of libcephfs."""

    fs: Any
    death: Death = field(default_factory=Death)

    def __getattr__(self, name: str) -> Any:
        call: Callable[..., Any] = getattr(self.fs, name)
        if name in UNCHANGING:
            return call

        def counted(*arguments: Any) -> Any:
            self.death.step()
            return call(*arguments)

        return counted


@dataclass(frozen=True, slots=True)
class WriteFile:
    """As a pod would, but by this client: CephFS waits until another one has written all that it
    has before it takes a snapshot."""

    path: str
    content: str


def write_file(fs: Any, wanted: WriteFile) -> None:
    opened = fs.open(wanted.path, "w", 0o644)
    fs.write(opened, wanted.content.encode(), 0)
    fs.fsync(opened, 0)
    fs.close(opened)


def serve_counted(pipe: "Connection[Any, Any]", how: m.WorkerAccess) -> None:
    """In a process of its own. Each request comes with the step before which it is stopped; it is
    answered with the steps that were taken, and with nothing else if it was stopped."""
    cephfs = importlib.import_module("cephfs")
    fs = CountedCalls(mounted_by_worker(cephfs, how))
    pipe.send(fs.get_addrs())
    worker = FileWorker(cephfs, fs)
    while True:
        request, before = pipe.recv()
        if request is None:
            worker = FileWorker(cephfs, fs)
            continue
        if isinstance(request, WriteFile):
            write_file(fs.fs, request)
            continue
        fs.death = Death(before)
        answer: m.Answer | None = None
        with suppress(CrashedError):
            answer = worker.answer(request)
        pipe.send((answer, fs.death.steps))


class CountedFiles(CephFilesystem):
    """Asks that worker."""

    pipe: "Connection[Any, Any]"
    death: Death

    async def _ask(self, request: m.Request) -> m.Answer:
        async with self._turn:
            self.death.check()
            self.pipe.send((request, self.death.left))
            answer, steps = await asyncio.to_thread(self.pipe.recv)
            self.death.steps += steps
            self.death.is_over = answer is None
        self.death.check()
        if isinstance(answer, m.RequestFailed):
            raise ceph_error(answer.number, f"file system {self.name}", answer.text)
        found: m.Answer = answer
        return found

    async def _step_by_step(self, request: m.RemoveSome | m.CopySome) -> None:
        while True:
            answer = await self._ask(request)
            if isinstance(answer, m.StepDone) and answer.is_last:
                return


@dataclass(frozen=True, slots=True)
class FilesGround:
    """What one driver after the other is made of."""

    filesystem: ClusterFilesystem
    connection: CephConnection
    fencing: ClientFencing
    pipe: "Connection[Any, Any]"
    directory: Path
    mount: Path
    """The whole file system, as another client sees it."""

    @property
    def root(self) -> Path:
        return self.mount / "plimsoll"

    @asynccontextmanager
    async def driver(self, death: Death | None = None) -> AsyncIterator[Running]:
        """A new one, which starts as if it were the first."""
        settings = BackendSettings(
            driver_name=NAME,
            data_dir=self.directory,
            nodes=(NODE,),
            options=cephfs_options(self.filesystem),
            mounts=Mounts.NONE,
        )
        files = CountedFiles(access(self.filesystem), FILESYSTEM, self.fencing)
        files.pipe, files.death = self.pipe, Death()
        files.pipe.send((None, None))
        backend = self._backend(settings, files)
        identity = DriverIdentity(name=NAME, backend="cephfs", version="0", nodes=(NODE,))
        with closing(Ledger(self.directory)) as ledger:
            parts = DriverParts(
                backend=backend, ledger=ledger, records=backend.records, clock=settings.clock
            )
            driver = Driver(identity, parts)
            await driver.start()
            files.death = death or Death()
            backend.cluster.runner.on_operation = files.death.on_operation
            transport = InProcessCsi(handlers(driver, NODE, settings), SystemClock())
            client = CsiClient(transport, within=TIME_LIMIT)
            try:
                yield Running(driver=driver, client=client, clock=SteppedClock())
            finally:
                await driver.stop()

    def _backend(self, settings: BackendSettings, files: CephFilesystem) -> CephfsBackend:
        mounts = FuseMounts(
            self.directory,
            access(self.filesystem),
            FILESYSTEM,
            fencing=self.fencing,
            clock=settings.clock,
        )
        return CephfsBackend(
            FilesystemAccess(connection=self.connection, files=files),
            parse_cephfs_options(settings.options),
            mounts=mounts,
            settings=settings,
            served=one_cluster(""),
        )

    async def contents(self) -> list[str]:
        """All that there is of volumes and snapshots, in the file system and in the journal, with
        content, pools and quotas; every uuid is a star, so that two attempts can be compared."""
        found = await self._journal()
        for folder in FOLDERS:
            found += await asyncio.to_thread(self._tree, self.root / folder)
        return sorted(UUID.sub("*", each) for each in found)

    async def _journal(self) -> list[str]:
        """Its objects, and the keys of those that all volumes share."""
        scope = PoolScope(pool=METADATA_POOL, namespace="csi")
        objects = RadosObjects(self.connection, scope)
        names = await objects.names()
        found = [name for name in names if name not in SHARED_OBJECTS]
        for name in set(names) & SHARED_OBJECTS:
            found += await passing_keys(objects, name)
        return found

    def _tree(self, place: Path) -> list[str]:
        found: list[str] = []
        for below in sorted(place.iterdir()) if place.exists() else ():
            if below.is_symlink():
                found.append(f"{below} -> {below.readlink()}")
            elif below.is_file():
                found.append(f"{below}: {below.read_text()}")
            # Snapshots that begin with an underscore are those of the directory above.
            elif not below.name.startswith("_"):
                told = [_attribute(below, each) for each in ATTRIBUTES]
                found += [f"{below}: {told}", *self._tree(below), *self._tree(below / ".snap")]
        return found

    def write(self, volume: csi.Volume, name: str, content: str) -> None:
        uuid = decompose_volume_id(volume.volume_id).uuid
        path = f"/plimsoll/volumes/csi-vol-{uuid}/{name}"
        self.pipe.send((WriteFile(path, content), None))

    async def clear(self) -> None:
        """Whatever tests left here before: the next driver is the first one in this file system."""
        async with self.driver() as driver:
            await self.delete_all(driver)

    async def delete_all(self, driver: Running) -> None:
        """Everything that the driver knows of; then there is nothing else."""
        snapshots = await driver.call(methods.LIST_SNAPSHOTS, csi.ListSnapshotsRequest())
        for entry in snapshots.entries:
            request = csi.DeleteSnapshotRequest(snapshot_id=entry.snapshot.snapshot_id)
            await driver.call(methods.DELETE_SNAPSHOT, request)
        for volume_id in await driver.volume_ids():
            await driver.delete(volume_id)
        assert await self.contents() == []
        self._remove_folders()

    def _remove_folders(self) -> None:
        """Which have to be empty: a driver that finds none has a step more than one that does."""
        for place in (*(self.root / folder for folder in FOLDERS), self.root):
            if place.exists():
                place.rmdir()


def _attribute(place: Path, name: str) -> str:
    try:
        return os.getxattr(place, name).decode()
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
        return ""


@contextmanager
def counted_worker(how: m.WorkerAccess) -> Iterator["Connection[Any, Any]"]:
    """Killed in the end: libcephfs may wait for a long time when it is shut down."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=serve_counted, args=(other, how))
    process.start()
    other.close()
    try:
        yield pipe
    finally:
        process.kill()
        process.join()


@asynccontextmanager
async def files_ground(
    filesystem: ClusterFilesystem, directory: Path
) -> AsyncIterator[FilesGround]:
    by = access(filesystem)
    how = m.WorkerAccess(
        filesystem=FILESYSTEM,
        monitors=by.monitors,
        user=by.user,
        key=by.key,
        seconds=round(TIME_LIMIT.total_seconds()),
    )
    async with connected(filesystem.cluster, LIMITS, by) as connection:
        fencing = ClientFencing(connection, ClientAddresses(directory / "addresses"))
        address = ""
        try:
            with counted_worker(how) as pipe:
                address = pipe.recv()
                # Else what it holds when it is killed would keep other clients waiting.
                fencing.began(address)
                with mounted(filesystem) as mount:
                    made = FilesGround(filesystem, connection, fencing, pipe, directory, mount)
                    await made.clear()
                    yield made
        finally:
            fencing.died(address)
            await fencing.enforce()
