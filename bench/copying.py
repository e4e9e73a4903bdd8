"""What snapshots and clones of images cost: it should follow the data in a volume, not its size.

A driver on a directory of this machine makes raw volumes of 1 GiB and 8 GiB, empty and with 64 MiB
of data, and takes a snapshot of each. Needs root, and 20 GiB of free disk for a minute.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.measurement import Measurement
from tests.processes.driver.node.ground import MIB, Ground, a_local_driver, swept, why_not_here

GIB = 1024**3
SMALL, LARGE = 1, 8
DATA_MIB = 64
ROOM_GIB = 40
FREE_GIB = 20
REPEATED = 3


async def measure_copying(remark: Callable[[str], None]) -> list[Measurement]:
    """Nothing where this machine cannot: the remark says why."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, swept(Path(name)) as directory:
        free_gib = shutil.disk_usage(directory).free // GIB
        why = why_not_here() or ("" if free_gib >= FREE_GIB else f"{free_gib} GiB of disk are free")
        if why:
            remark(f"copies not measured: {why}")
            return []
        remark("snapshots of 1 GiB and 8 GiB, empty and with 64 MiB of data …")
        async with a_local_driver(directory, size_bytes=ROOM_GIB * GIB) as ground:
            found = {
                (mib, gib): await _milliseconds(ground, gib, mib)
                for mib in (0, DATA_MIB)
                for gib in (SMALL, LARGE)
            }
    return [
        *(_snapshot(mib, gib, milliseconds) for (mib, gib), milliseconds in found.items()),
        *(_ratio(mib, found[mib, LARGE] / found[mib, SMALL]) for mib in (0, DATA_MIB)),
    ]


async def _milliseconds(ground: Ground, gib: int, mib: int) -> float:
    """The shortest of several: what the machine does besides only ever adds to it."""
    volume = await ground.create(f"data-{gib}-{mib}", mib=gib * 1024, block=True)
    if mib:
        device = await ground.use(volume, block=True)
        _fill(device, mib)
        await ground.leave(volume)
    taken = []
    for number in range(REPEATED):
        began = time.perf_counter()
        snapshot = await ground.take_snapshot(volume, f"backup-{gib}-{mib}-{number}")
        taken.append(time.perf_counter() - began)
        await ground.delete_snapshot(snapshot)
    await ground.delete(volume)
    return min(taken) * 1000


def _fill(device: Path, mib: int) -> None:
    with device.open("r+b") as file:
        for _ in range(mib):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())


def _content(mib: int) -> str:
    return f"{mib} MiB of data" if mib else "empty"


def _snapshot(mib: int, gib: int, milliseconds: float) -> Measurement:
    name = f"snapshot, {gib} GiB, {_content(mib)}"
    return Measurement(name=name, value=milliseconds, unit="ms", better="lower")


def _ratio(mib: int, times: float) -> Measurement:
    name = f"snapshot, 8 GiB / 1 GiB, {_content(mib)}"
    return Measurement(name=name, value=times, unit="times", better="lower")
