"""A driver that is killed, at whatever moment, leaves no volume that its next run misses."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import IO

import pytest

from plimsoll.processes.driver.backends.lvm.backend import make
from plimsoll.processes.driver.backends.lvm.commands import NewVolume
from plimsoll.processes.driver.backends.lvm.layouts import LvmArrangement, LvmShape
from plimsoll.processes.driver.backends.lvm.tags import UNFINISHED, tags_of
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.methods import PROBE
from tests.processes.driver.backends.lvm.callers import DEADLINE, Caller
from tests.processes.driver.backends.lvm.disks import EXTENT, NODE, Group, needs_lvm, volume_group
from tests.servers import plimsoll

pytestmark = needs_lvm
START = timedelta(seconds=30)


@asynccontextmanager
async def a_process(
    group: Group, directory: Path
) -> AsyncIterator[tuple[Caller, subprocess.Popen[bytes]]]:
    socket = f"unix://{directory}/csi.sock"
    options = [f"--data-dir={directory / 'data'}", f"--endpoint={socket}", f"--node-id={NODE}"]
    disks = [f"--disk={disk}" for disk in group.lvm.disks]
    command = [plimsoll(), "driver", "--backend=lvm", f"--volume-group={group.lvm.group}"]
    with (directory / "log").open("ab") as log:
        process = started([*command, *options, *disks], log)
    client = CsiClient(GrpcTransport(socket), within=DEADLINE)
    try:
        await until_answering(client)
        yield Caller(client), process
    finally:
        await client.close()
        process.kill()
        process.communicate()


def started(command: list[str], output: int | IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(START.total_seconds()):
        while not is_so():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.01)


async def until_answering(client: CsiClient) -> None:
    async with asyncio.timeout(START.total_seconds()):
        while True:
            try:
                if (await client.call(PROBE, csi.ProbeRequest())).ready.value:
                    return
            except DriverError:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("seed", range(2))
async def test_after_a_kill_there_are_the_volumes_that_are_recorded(
    tmp_path: Path, seed: int
) -> None:
    number = Random(seed).randint(1, 5)
    names = [f"pvc-{each}" for each in range(8)]
    with volume_group(tmp_path, [20, 20]) as (group, _):
        async with a_process(group, tmp_path) as (caller, process):
            calls = [
                asyncio.ensure_future(caller.create({}, 2 * EXTENT, name=name)) for name in names
            ]
            await until(lambda: len(group.names()) >= number)
            process.kill()
            await asyncio.gather(*calls, return_exceptions=True)
        async with a_process(group, tmp_path) as (caller, _):
            assert group.names() == await caller.ids()
            made = [await caller.create({}, 2 * EXTENT, name=name) for name in names]
            assert group.names() == {volume.volume_id for volume in made}
            for volume in made:
                await caller.delete(volume.volume_id)
            assert group.names() == set()


async def test_a_volume_that_an_orphaned_command_makes_late_is_removed(tmp_path: Path) -> None:
    with volume_group(tmp_path, [8]) as (group, settings):
        backend = make(settings)
        state = settings.data_dir / "lvm"
        owner = (state / "owner").read_text().strip()
        argv = group.lvm.make_volume(
            NewVolume(
                name="lvm-late",
                shape=LvmShape(arrangement=LvmArrangement.LINEAR),
                extents=1,
                tags=(*tags_of("lvm-late", owner=owner, name="pvc-1"), UNFINISHED),
                ranges=(f"{group.lvm.disks[0]}:0-0",),
            )
        )
        lock = state / "making.lock"
        waiting = ["sh", "-c", 'read go; exec "$@"', "sh", *argv]
        orphan = started(["flock", "--exclusive", str(lock), *waiting], subprocess.DEVNULL)
        try:
            await until(lambda: is_locked(lock))
            settled = asyncio.ensure_future(backend.settle([], []))
            await until(lambda: is_waited_for(lock))
            orphan.communicate(b"\n")
            await settled
            assert orphan.returncode == 0
            assert group.names() == set()
        finally:
            orphan.kill()


def is_locked(path: Path) -> bool:
    return path.exists() and any(f":{path.stat().st_ino} " in line for line in locks())


def is_waited_for(path: Path) -> bool:
    return any("->" in line and f":{path.stat().st_ino} " in line for line in locks())


def locks() -> list[str]:
    return Path("/proc/locks").read_text().splitlines()
