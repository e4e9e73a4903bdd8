"""Clears away a cluster when the process that started it ends, however it ends.

Its standard input is a pipe from that process, which the kernel closes even after `kill -9`. Then
everything goes that has the cluster's directory in its arguments, its mounts, loop devices and
files. It runs in a session of its own, so that a signal to the group of the tests does not reach
it. It imports nothing of the project.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

TIME_LIMIT = 10.0
FUSE = frozenset({"fuse.rbd-fuse", "fuse.ceph-fuse"})


def main(directory: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    clear_away(directory)


def clear_away(directory: Path) -> None:
    """Mounts go first, while the cluster still answers those that have something to write. Their
    devices are looked up before: afterwards none tells what was behind it."""
    devices = loop_devices(directory)
    unmount(directory)
    detach(devices)
    kill_all(directory)
    unmount(directory)
    shutil.rmtree(directory, ignore_errors=True)


def processes(directory: Path) -> Iterator[int]:
    """Those of the cluster: its directory is in their arguments."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and _is_of(entry, directory):
            yield int(entry.name)


def _is_of(entry: Path, directory: Path) -> bool:
    try:
        arguments = (entry / "cmdline").read_bytes().split(b"\0")
        state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    own = os.fsencode(directory)
    return state != "Z" and any(_is_below(argument, own) for argument in arguments)


def _is_below(argument: bytes, directory: bytes) -> bool:
    return argument == directory or directory + b"/" in argument


def kill_all(directory: Path) -> None:
    until = time.monotonic() + TIME_LIMIT
    while found := list(processes(directory)):
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            return
        time.sleep(0.02)


def mounts(directory: Path) -> list[str]:
    """Below the directory, the last one first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in lines]
    return [point for point in reversed(points) if point.startswith(f"{directory}/")]


def unmount(directory: Path) -> None:
    for point in mounts(directory):
        if not _ends_well("umount", point):
            _ends_well("umount", "-l", point)


def loop_devices(directory: Path) -> list[str]:
    command = ["losetup", "--json", "--list", "--output", "NAME,BACK-FILE"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = json.loads(listed)["loopdevices"] if listed.strip() else []
    return [item["name"] for item in found if f"{directory}/" in (item["back-file"] or "")]


def detach(devices: list[str]) -> None:
    for device in devices:
        _ends_well("losetup", "-d", device)


def clear_dead_mounts(below: Path) -> None:
    """Of rbd-fuse and ceph-fuse that died with the tests that started them. While there is one no
    btrfs can be made on the machine."""
    commands = [_arguments(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    alive = {argument for arguments in commands for argument in arguments}
    for point, kind in _mounted():
        if kind in FUSE and point.startswith(f"{below}/") and os.fsencode(point) not in alive:
            devices = loop_devices(Path(point))
            _ends_well("umount", "--no-canonicalize", "-l", point)
            detach(devices)


def _mounted() -> list[tuple[str, str]]:
    """Where, and which file system."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [(line.split()[4], line.partition(" - ")[2].split()[0]) for line in lines]


def _arguments(entry: Path) -> list[bytes]:
    try:
        return (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _ends_well(*command: str) -> bool:
    """A command that hangs on a dead cluster is given up, also where it cannot be killed."""
    no = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        started = subprocess.Popen(command, stdin=no, stdout=no, stderr=no)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return started.wait(TIME_LIMIT) == 0
        started.kill()
    return False


if __name__ == "__main__":
    main(Path(sys.argv[1]))
