"""Images as block devices where the kernel has no driver for them: rbd-fuse, and a loop device.

rbd-fuse shows one image as a file in a directory of its own. It is a process that outlives the
driver. It waits for a zone that is down, as a disk would: an error would end the file system.
"""

import asyncio
import logging
import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.rbd.fuse_processes import is_any_at, kill_all_at
from plimsoll.processes.driver.node import loop_devices
from plimsoll.processes.driver.node.mounting.targets import entries
from plimsoll.processes.driver.settings import SetupError
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.commands import CommandError, run, run_into_background
from plimsoll.runtime.deadlines import in_thread_within
from plimsoll.runtime.files.mountinfo import read_mount_points, read_mounts
from plimsoll.wire.ceph.connection import CephAccess

log = logging.getLogger(__name__)

PROGRAM = "rbd-fuse"
WITHIN = timedelta(seconds=20)
PAUSE = timedelta(milliseconds=20)
ANSWERS_WITHIN = timedelta(seconds=5)
CLIENT = (
    "[client]",
    "err to stderr = false",
    "admin socket =",
    "log file =",
    # A client that is fenced would go on to take writes into its cache, and say that they are safe.
    "rbd cache = false",
    # An idle client may not notice that an OSD came back: it looks after this many seconds.
    "objecter timeout = 2",
    "objecter tick interval = 1",
)
UNMOUNT_LAZILY = ("umount", "--no-canonicalize", "--lazy")
"""Without looking at what is mounted: that would wait, or fail."""


class FuseDevices:
    def __init__(self, directory: Path, access: CephAccess, clock: Clock) -> None:
        # The kernel tells of mounts and devices by their real paths.
        self._directory = directory.resolve()
        self._access = access
        self._clock = clock

    @property
    def is_possible(self) -> bool:
        return shutil.which(PROGRAM) is not None

    def prepare(self) -> None:
        """Writes what rbd-fuse connects with. Raises SetupError."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            keys, access = self._directory / "keyring", self._access
            keys.touch(mode=0o600)
            keys.write_text(f"[client.{access.user}]\n\tkey = {access.key}\n")
            lines = ("[global]", f"mon host = {access.monitors}", f"keyring = {keys}")
            self._conf.write_text("\n".join((*lines, *CLIENT, "")))
        except OSError as error:
            raise SetupError(f"{self._directory}: {error.strerror}") from error

    @property
    def _conf(self) -> Path:
        return self._directory / "ceph.conf"

    def _file(self, image: str) -> Path:
        return self._directory / "images" / image / image

    async def open(self, pool: str, image: str) -> Path:
        """The device; the same one as long as it is open. Raises CommandError, TimeoutError."""
        if (present := self.find(image)) is not None:
            return present
        file = self._file(image)
        if not self.is_shown(image):
            file.parent.mkdir(parents=True, exist_ok=True)
            environment = {"CEPH_ARGS": f"--id {self._access.user}"}
            command: list[str | Path] = [
                PROGRAM,
                "-c",
                self._conf,
                "-p",
                pool,
                "-r",
                image,
                file.parent,
            ]
            await run_into_background(command, within=WITHIN, extra_environment=environment)
        async with asyncio.timeout(WITHIN.total_seconds()):
            # A thread that can be given up: rbd-fuse may wait for Ceph, for as long as it takes.
            while not await in_thread_within(WITHIN, file.exists, OSError):
                await self._clock.sleep(PAUSE)
        return await loop_devices.attach_new(file)

    def find(self, image: str) -> Path | None:
        """Also after its rbd-fuse was taken down: then the kernel does not know its directory."""
        files = (self._file(image), Path("/", image))
        return next(
            (loop for loop, behind in loop_devices.loops().items() if behind in files), None
        )

    async def take_down_dead(self) -> None:
        """Mounts whose rbd-fuse has died, as with a restart of the container that it ran in. No
        process can look into them, and programs fail that look at all loop devices, as mkfs.btrfs.
        What is mounted from their devices stays until its volume is unstaged. Raises CommandError,
        TimeoutError."""
        for place in entries(self._directory / "images"):
            if self.is_shown(place.name) and not await is_any_at(place, PROGRAM):
                log.warning("dead mount taken down", extra={"image": place.name})
                device = self.find(place.name)
                await run([*UNMOUNT_LAZILY, place], within=WITHIN)
                if device is not None and device not in _mounted_devices():
                    await run(["losetup", "--detach", device], within=WITHIN)
                with suppress(OSError):
                    place.rmdir()

    def image_of(self, uuid: str) -> str:
        """The name of the image that is open here and ends with that; empty: there is none."""
        places = entries(self._directory / "images")
        names = (place.name for place in places if place.name.endswith(uuid))
        shown = (name for name in names if self.is_shown(name) or self.find(name) is not None)
        return next(shown, "")

    async def resize(self, image: str) -> None:
        if (device := self.find(image)) is not None:
            await loop_devices.resize(device)

    async def close(self, image: str) -> None:
        """Nothing of it is mounted any more. rbd-fuse ends by itself, unless it waits for a cluster
        that is down or has fenced it: then it is killed. Raises CommandError."""
        file = self._file(image)
        if (device := self.find(image)) is not None:
            await loop_devices.detach(device)
            await run(["losetup", "--detach", device], within=WITHIN)
        if self.is_shown(image):
            await self._unmount(file.parent)
        with suppress(OSError):
            file.parent.rmdir()

    async def _unmount(self, directory: Path) -> None:
        """umount(8) asks for the directory first, and hangs if rbd-fuse does not answer."""
        unmounting = asyncio.ensure_future(run(["umount", directory], within=WITHIN))
        ended, _ = await asyncio.wait((unmounting,), timeout=ANSWERS_WITHIN.total_seconds())
        if not ended:
            await kill_all_at(directory, PROGRAM, self._clock)
        try:
            await unmounting
        except CommandError:
            if str(directory) in read_mount_points():
                await run([*UNMOUNT_LAZILY, directory], within=WITHIN)

    async def kill(self, image: str) -> None:
        """For one that Ceph has cut off: it would not end by itself, and has nothing to lose."""
        await kill_all_at(self._file(image).parent, PROGRAM, self._clock)

    def is_taken_down(self, image: str) -> bool:
        """Whether it has a device behind which there is no rbd-fuse any more."""
        return not self.is_shown(image) and self.find(image) is not None

    def is_shown(self, image: str) -> bool:
        """Whether rbd-fuse is, or was, started for it; it may be without a device."""
        return str(self._file(image).parent) in read_mount_points()


def _mounted_devices() -> frozenset[Path]:
    return frozenset(Path(mount.source) for mount in read_mounts())
