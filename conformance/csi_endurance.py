"""A driver that is killed again and again loses nothing and leaks nothing.

Each round takes one volume through its whole life: create, stage, publish, write, snapshot, leave,
use again, read, delete. Once in every round, at a moment that chance picks, often in the middle of
a call, the driver is killed with SIGKILL and started again; the call is then repeated, as a kubelet
or a provisioner would. What was written is compared by its checksum. In the end there is no
volume, file, mount or loop device left, and all room is free again.

`python -m conformance.csi_endurance --rounds 200 --seed 7`
"""

import argparse
import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

import uvloop
from google.protobuf.message import Message

from plimsoll.processes.driver.node.loop_devices import loops
from plimsoll.runtime.files.mountinfo import read_mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.methods import Method
from tests.servers import plimsoll

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Say = Callable[[str], None]

MEBIBYTE = 1 << 20
START_SECONDS = 60
REPEATS = 200
LONGEST_CALL_SECONDS = 0.12
"""Most calls take less: a kill within it comes before, in the middle of, or after the effect."""
WRITTEN_BYTES = MEBIBYTE
SMALL_BYTES = 64 * MEBIBYTE
WRITER = csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of volumes, and what a machine needs for it."""

    title: str
    parameters: Mapping[str, str]
    size_bytes: int = 16 * MEBIBYTE
    block: bool = False
    program: str = "mkfs.ext4"

    def capability(self) -> csi.VolumeCapability:
        wanted = csi.VolumeCapability(access_mode=csi.VolumeCapability.AccessMode(mode=WRITER))
        (wanted.block if self.block else wanted.mount).SetInParent()
        return wanted


KINDS = (
    Kind(title="directory", parameters={"type": "directory"}),
    Kind(title="ext4", parameters={"type": "image"}),
    Kind(title="block", parameters={"type": "image"}, block=True),
    Kind(title="memory", parameters={"medium": "memory"}),
    Kind(
        title="mirrored",
        parameters={"layout": "mirrored"},
        size_bytes=256 * MEBIBYTE,
        program="mkfs.btrfs",
    ),
    Kind(
        title="xfs",
        parameters={"fsType": "xfs"},
        size_bytes=300 * MEBIBYTE,
        program="mkfs.xfs",
    ),
)

DISK_SIZE = "2Gi"
"""As much as a round needs, so that a small machine has it: what is free depends on it alone."""


@dataclass(slots=True)
class Mortal:
    """The driver as a program, which can be killed at any moment and started again."""

    directory: Path
    process: subprocess.Popen[bytes] | None = None
    client: CsiClient | None = None
    kills: int = 0

    async def start(self) -> CsiClient:
        disks = [f"--disk={self.directory / name}={DISK_SIZE}" for name in ("disk-a", "disk-b")]
        data_dir = self.directory / "data"
        command = [plimsoll(), "driver", f"--data-dir={data_dir}", "--node-id=alpha", *disks]
        command += ["--create-disk", "--memory=256Mi", "--log-level=warning"]
        self.process = _begun(command, self.log)
        deadline = time.monotonic() + START_SECONDS
        while self.client is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the driver did not start: {self.log.read_text()[-2000:]}")
            await asyncio.sleep(0.02)
            self.client = await _connected(data_dir / "csi.sock")
        return self.client

    @property
    def log(self) -> Path:
        return self.directory / "driver.log"

    async def kill(self) -> None:
        """As the kernel would: nothing is said, nothing is finished."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.client is not None:
            await self.client.close()
        self.process = self.client = None
        self.kills += 1


async def _connected(socket: Path) -> CsiClient | None:
    """A channel that fails at first tries again only after a second or more: so a new one."""
    if not await asyncio.to_thread(socket.exists):
        return None
    client = CsiClient(GrpcTransport(f"unix://{socket}"))
    try:
        if (await client.call(m.PROBE, csi.ProbeRequest())).ready.value:
            return client
    except DriverError:
        pass
    await client.close()
    return None


def _begun(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output)


@dataclass(slots=True)
class Round:
    """The life of one volume. The driver dies during the call, or right after it, that `fatal`
    counts down to."""

    driver: Mortal
    kind: Kind
    name: str
    chance: Random
    fatal: int
    volume_id: str = ""
    checksum: str = ""
    snapshots: list[str] = field(default_factory=list)

    async def run(self) -> None:
        await self._create()
        await self._use()
        self._write()
        # Copying large images takes most of the time, and shows nothing that small ones do not.
        is_small = self.kind.size_bytes <= SMALL_BYTES
        if self.chance.random() < (0.5 if is_small else 0.1):
            await self._snapshot()
        self._check()
        await self._leave()
        await self._use()
        self._check()
        await self._leave()
        for snapshot in self.snapshots:
            request = csi.DeleteSnapshotRequest(snapshot_id=snapshot)
            await self._call(m.DELETE_SNAPSHOT, request)
        await self._call(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=self.volume_id))

    async def _create(self) -> None:
        size = csi.CapacityRange(required_bytes=self.kind.size_bytes)
        request = csi.CreateVolumeRequest(
            name=self.name,
            capacity_range=size,
            volume_capabilities=[self.kind.capability()],
            parameters=self.kind.parameters,
        )
        self.volume_id = (await self._call(m.CREATE_VOLUME, request)).volume.volume_id

    async def _use(self) -> None:
        self._staging.mkdir(parents=True, exist_ok=True)
        self._target.parent.mkdir(parents=True, exist_ok=True)
        stage = csi.NodeStageVolumeRequest(
            volume_id=self.volume_id,
            staging_target_path=str(self._staging),
            volume_capability=self.kind.capability(),
        )
        await self._call(m.NODE_STAGE_VOLUME, stage)
        publish = csi.NodePublishVolumeRequest(
            volume_id=self.volume_id,
            staging_target_path=str(self._staging),
            target_path=str(self._target),
            volume_capability=self.kind.capability(),
        )
        await self._call(m.NODE_PUBLISH_VOLUME, publish)

    async def _leave(self) -> None:
        unpublish = csi.NodeUnpublishVolumeRequest(
            volume_id=self.volume_id, target_path=str(self._target)
        )
        await self._call(m.NODE_UNPUBLISH_VOLUME, unpublish)
        unstage = csi.NodeUnstageVolumeRequest(
            volume_id=self.volume_id, staging_target_path=str(self._staging)
        )
        await self._call(m.NODE_UNSTAGE_VOLUME, unstage)

    async def _snapshot(self) -> None:
        request = csi.CreateSnapshotRequest(source_volume_id=self.volume_id, name=self.name)
        taken = await self._call(m.CREATE_SNAPSHOT, request)
        self.snapshots.append(taken.snapshot.snapshot_id)

    def _write(self) -> None:
        content = os.urandom(WRITTEN_BYTES)
        with self._file.open("r+b" if self.kind.block else "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self.checksum = hashlib.sha256(content).hexdigest()

    def _check(self) -> None:
        with self._file.open("rb") as file:
            found = hashlib.sha256(file.read(WRITTEN_BYTES)).hexdigest()
        assert found == self.checksum, f"{self.name} ({self.kind.title}): other data than written"

    @property
    def _file(self) -> Path:
        return self._target if self.kind.block else self._target / "file"

    @property
    def _staging(self) -> Path:
        return self.driver.directory / "staging" / self.volume_id

    @property
    def _target(self) -> Path:
        return self.driver.directory / "pods" / self.volume_id / "mount"

    async def _call(self, method: Method[Request, Response], request: Request) -> Response:
        """Repeated until it succeeds, as the callers of a driver do."""
        self.fatal -= 1
        if self.fatal == 0:
            await self._call_and_kill(method, request)
        for _ in range(REPEATS):
            client = self.driver.client or await self.driver.start()
            try:
                return await client.call(method, request)
            except DriverError as error:
                if error.is_final:
                    raise AssertionError(f"{self.name} ({self.kind.title}): {error}") from error
                await asyncio.sleep(0.02)
        raise AssertionError(f"{self.name} ({self.kind.title}): {method.call} never succeeds")

    async def _call_and_kill(self, method: Method[Request, Response], request: Request) -> None:
        client = self.driver.client or await self.driver.start()
        moment = self.chance.uniform(0, LONGEST_CALL_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(_ignored(client, method, request))
            await asyncio.wait((call,), timeout=moment)
            await self.driver.kill()


async def _ignored(client: CsiClient, method: Method[Request, Response], request: Request) -> None:
    with suppress(DriverError):
        await client.call(method, request)


CALLS = 10
"""In a round, or one more."""


async def endure(directory: Path, *, rounds: int, seed: int, say: Say) -> None:
    """Raises AssertionError."""
    chance, driver = Random(seed), Mortal(directory)
    kinds = [kind for kind in KINDS if shutil.which(kind.program)]
    try:
        free = await _free(await driver.start())
        for number in range(rounds):
            kind = kinds[number % len(kinds)]
            fatal = chance.randint(1, CALLS)
            life = Round(driver, kind, f"volume-{number}", chance, fatal)
            await life.run()
            if number % len(kinds) == len(kinds) - 1:
                say(f"round {number + 1}: {driver.kills} kills")
        # Once more from the start: what would be left is left for good.
        await driver.kill()
        client = await driver.start()
        assert await _free(client) == free, "room was lost"
        volumes = await client.call(m.LIST_VOLUMES, csi.ListVolumesRequest())
        assert not volumes.entries, f"volumes are left: {volumes}"
        assert_nothing_left(directory)
    finally:
        await driver.kill()
        _sweep(directory)


async def _free(client: CsiClient) -> list[int]:
    found = []
    for kind in KINDS:
        request = csi.GetCapacityRequest(parameters=kind.parameters)
        found.append((await client.call(m.GET_CAPACITY, request)).available_capacity)
    return found


def assert_nothing_left(directory: Path) -> None:
    left = _mounted(directory)
    assert not left, f"still mounted: {left}"
    assert not _attached(directory), f"loop devices are left: {_attached(directory)}"
    kept = [
        str(path)
        for folder in ("disk-*/volumes/*", "disk-*/snapshots/*", "data/memory*/*", "data/copying/*")
        for path in directory.glob(folder)
    ]
    assert not kept, f"files are left: {kept}"


def _mounted(directory: Path) -> list[Path]:
    real = directory.resolve()
    return [mount.path for mount in read_mounts() if mount.path.is_relative_to(real)]


def _attached(directory: Path) -> list[Path]:
    real = directory.resolve()
    return [device for device, file in loops().items() if file.is_relative_to(real)]


def _sweep(directory: Path) -> None:
    """Whatever went wrong, the machine stays as it was."""
    for path in reversed(_mounted(directory)):
        subprocess.run(["umount", "--lazy", path], check=False, timeout=30)
    for device in _attached(directory):
        subprocess.run(["losetup", "--detach", device], check=False, timeout=30)


def run(rounds: int, seed: int, say: Say) -> None:
    with tempfile.TemporaryDirectory(prefix="plimsoll-endurance-") as directory:
        uvloop.run(endure(Path(directory), rounds=rounds, seed=seed, say=say))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10_000)
    arguments = parser.parse_args()
    print(f"{arguments.rounds} rounds with seed {arguments.seed}", flush=True)
    if os.geteuid() != 0:
        sys.exit("mounts and loop devices need root")
    run(arguments.rounds, arguments.seed, lambda text: print(text, flush=True))
    print("nothing was lost and nothing is left")


if __name__ == "__main__":
    main()
