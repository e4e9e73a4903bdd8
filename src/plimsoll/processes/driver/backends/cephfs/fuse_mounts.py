"""Directories of CephFS on a node, by ceph-fuse: one process for each volume.

Each mounts the directory of its volume and nothing above it, so `df` shows the quota, and pods see
no other volume. Pods see no snapshots either: they could remove them. A process that died, or was
fenced, is replaced, and everything that showed its mount shows the new one. What it had not written
is lost, as with a disk that is pulled.

A process waits for a zone that is down, as a disk would. Nothing here looks into a mounted
directory: that would wait as well.
"""

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.cephfs.fuse_clients import (
    LONGEST_ADDRESS,
    FuseClient,
    FuseStatus,
    ask_client,
    read_client,
    start_time,
    write_client,
)
from plimsoll.processes.driver.node.mounting.targets import entries
from plimsoll.processes.driver.settings import SetupError
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.commands import CommandError, run, run_into_background
from plimsoll.runtime.files.mountinfo import MountEntry, find_mount, read_mounts
from plimsoll.wire.ceph.connection import CephAccess
from plimsoll.wire.ceph.files.fencing import ClientFencing

log = logging.getLogger(__name__)

PROGRAM = "ceph-fuse"
WITHIN = timedelta(seconds=20)
UNMOUNTED_WITHIN = timedelta(seconds=5)
ENDED_WITHIN = timedelta(seconds=5)
PAUSE = timedelta(milliseconds=20)
UNMOUNT = ("umount", "--no-canonicalize")
"""Without looking at what is mounted: that would wait for a cluster that is down."""
KEPT_OPTIONS = frozenset({"ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime"})
"""Of what is mounted elsewhere, when it is mounted anew."""

CONFIGURATION = """\
[global]
mon host = {monitors}
keyring = {keys}
[client]
err to stderr = false
log file =
client mount timeout = 5
client shutdown timeout = 2
client snapdir =
"""


Admit = Callable[[str], Awaitable[None]]
"""Told the address of a client that has mounted something; raises if it may not write."""


async def admit_any(address: str) -> None:
    """Where no fence is looked at."""


class FuseMounts:
    def __init__(
        self,
        directory: Path,
        access: CephAccess,
        filesystem: str,
        *,
        fencing: ClientFencing,
        clock: Clock,
    ) -> None:
        self._directory = directory
        self._access = access
        self._filesystem = filesystem
        self._clock = clock
        self._fencing = fencing

    @property
    def is_possible(self) -> bool:
        return shutil.which(PROGRAM) is not None

    def prepare(self) -> None:
        """Writes what ceph-fuse connects with, and takes over processes of the last run.

        Raises SetupError.
        """
        if len(str(self._socket("").absolute())) > LONGEST_ADDRESS:
            raise SetupError(f"{self._directory}: is too long for sockets in it; use a shorter one")
        try:
            for name in ("run", "clients", "mounts"):
                (self._directory / name).mkdir(parents=True, exist_ok=True)
            keys, access = self._directory / "keyring", self._access
            keys.touch(mode=0o600)
            keys.write_text(f"[client.{access.user}]\n\tkey = {access.key}\n")
            text = CONFIGURATION.format(monitors=access.monitors, keys=keys)
            self._conf.write_text(text)
        except OSError as error:
            raise SetupError(f"{self._directory}: {error.strerror}") from error
        for file in (self._directory / "clients").iterdir():
            client = read_client(file)
            if client is not None and client.is_alive:
                self._fencing.began(client.address)

    @property
    def _conf(self) -> Path:
        return self._directory / "ceph.conf"

    def place(self, name: str) -> Path:
        return self._directory / "mounts" / name

    def _record(self, name: str) -> Path:
        return self._directory / "clients" / name

    def _socket(self, name: str) -> Path:
        return self._directory / "run" / hashlib.sha256(name.encode()).hexdigest()[:16]

    def find(self, name: str) -> Path | None:
        """Where it is mounted, whether that works or not."""
        return None if self._mount(name) is None else self.place(name)

    def name_of(self, uuid: str) -> str:
        """Of the directory that is mounted here and ends with that; empty: there is none."""
        places = entries(self._directory / "mounts")
        names = (place.name for place in places if place.name.endswith(uuid))
        return next((name for name in names if self.find(name) is not None), "")

    def _mount(self, name: str) -> MountEntry | None:
        place = self.place(name)
        return find_mount(read_mounts(), place.parent.resolve() / place.name)

    async def open(self, name: str, path: str, admit: Admit = admit_any) -> Path:
        """The mount point; a mount that does not work is replaced. Nothing shows a mount whose
        client is not admitted.

        Raises CommandError, TimeoutError and CephError, and what `admit` raises.
        """
        if self._mount(name) is None:
            await self._end(name)
            await self._show(name, path, admit)
        elif problem := await self.problem(name):
            log.warning("volume mounted anew", extra={"volume": name, "problem": problem})
            await self._replace(name, path, admit)
        else:
            # A driver may have died before its client was admitted: no fence would find it.
            await admit(await self._write_down(name))
        return self.place(name)

    async def problem(self, name: str) -> str:
        """What is wrong with a mount, for people; empty: nothing."""
        status = await self._status(name)
        if status is None:
            return "its ceph-fuse has died, or does not answer"
        return "its ceph-fuse was fenced by the cluster" if status.is_fenced else ""

    async def _status(self, name: str) -> FuseStatus | None:
        return await asyncio.to_thread(ask_client, self._socket(name))

    async def _show(self, name: str, path: str, admit: Admit) -> None:
        place = self.place(name)
        place.mkdir(parents=True, exist_ok=True)
        own = ("--admin-socket", self._socket(name), "--client_fs", self._filesystem)
        command = (PROGRAM, "-c", self._conf, "-n", f"client.{self._access.user}", *own)
        is_admitted = False
        try:
            await run_into_background([*command, "-r", path, place], within=WITHIN)
            await admit(await self._write_down(name))
            is_admitted = True
        finally:
            if not is_admitted:
                await self._take_away(name)

    async def _write_down(self, name: str) -> str:
        """The address of its client."""
        async with self._clock.timeout(WITHIN):
            while (status := await self._status(name)) is None:
                await self._clock.sleep(PAUSE)
        self._fencing.began(status.address)
        started = start_time(status.pid)
        client = FuseClient(pid=status.pid, started=started, address=status.address)
        write_client(self._record(name), client)
        return status.address

    async def _replace(self, name: str, path: str, admit: Admit) -> None:
        """Nothing of the old mount can be read any more, so nothing is lost by taking it away."""
        shown = self._shown_elsewhere(name)
        for entry in reversed(shown):
            await run([*UNMOUNT, "--lazy", entry.path], within=UNMOUNTED_WITHIN)
        await self._take_away(name)
        await self._end(name)
        await self._fencing.enforce()
        await self._show(name, path, admit)
        for entry in shown:
            await self._bind(name, entry)

    def _shown_elsewhere(self, name: str) -> Sequence[MountEntry]:
        own = self._mount(name)
        if own is None:
            return ()
        same = (mount for mount in read_mounts() if mount.content == own.content)
        return [mount for mount in same if mount.path != own.path]

    async def _bind(self, name: str, entry: MountEntry) -> None:
        await run(["mount", "--bind", self.place(name), entry.path], within=WITHIN)
        if options := sorted(entry.options & KEPT_OPTIONS):
            wanted = ",".join(("remount", "bind", *options))
            await run(["mount", "-o", wanted, entry.path], within=WITHIN)

    async def close(self, name: str) -> None:
        """Nothing else shows the mount any more. Raises CommandError."""
        await self._take_away(name)
        await self._end(name)

    async def _take_away(self, name: str) -> None:
        """A mount that cannot be taken away in time is let go: its process is killed after that."""
        while (mount := self._mount(name)) is not None:
            try:
                await run([*UNMOUNT, mount.path], within=UNMOUNTED_WITHIN)
            except CommandError:
                await run([*UNMOUNT, "--lazy", mount.path], within=UNMOUNTED_WITHIN)
        with suppress(OSError):
            self.place(name).rmdir()

    async def _end(self, name: str) -> None:
        """It ends by itself when it is unmounted; one that does not is killed, and fenced."""
        client = read_client(self._record(name))
        if client is not None:
            if await self._has_ended(name, client):
                self._fencing.ended(client.address)
            else:
                client.kill()
                self._fencing.died(client.address)
                await self._fencing.try_enforce()
        self._record(name).unlink(missing_ok=True)
        self._socket(name).unlink(missing_ok=True)

    async def _has_ended(self, name: str, client: FuseClient) -> bool:
        """In order: it takes its socket away with it."""
        with suppress(TimeoutError):
            async with self._clock.timeout(ENDED_WITHIN):
                while client.is_alive:
                    await self._clock.sleep(PAUSE)
        return not client.is_alive and not self._socket(name).exists()
