"""`plimsoll up` as a user starts it, each part as a process of its own, and what it leaves."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from plimsoll.processes.driver.backends.pools.faults import FILE_NAME as FAULTS
from plimsoll.processes.driver.node.loop_devices import loops
from plimsoll.runtime.files.mountinfo import read_mounts
from plimsoll.ui.local_cluster.layout import ClusterOptions, driver_dir
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from tests.servers import plimsoll

START_SECONDS = 180
STOP_SECONDS = 180
PAUSE_SECONDS = 0.05
PROC = Path("/proc")
UP = ("--nodes=3", "--real", "--disk-size=1Gi", "--memory=128Mi", "--log-level=info")
"""Small: what is free is as much as the load needs, and little is ever written to it."""
SEPARATE = "--separate"
DRIVERS = (LOCAL, POOLS)
SLOW_CALLS = {
    "CreateVolume": 1.0,
    "DeleteVolume": 0.5,
    "CreateSnapshot": 0.5,
    "ControllerExpandVolume": 0.5,
    "ControllerPublishVolume": 0.3,
}
"""In seconds."""
ARGUMENTS_FROM = 4
"""Of a child: the interpreter, `-c`, the program, the id of its parent; then the command."""
TELLING = {"driver": "--settings", "provisioner": "--csi-address", "node": "--node-name"}
"""The argument that tells one process of a command from the others, by its last part."""


@dataclass(frozen=True, slots=True)
class Victim:
    name: str
    """`apiserver`, `driver local`, `node node-1`, …"""
    pid: int


@dataclass(frozen=True, slots=True)
class KilledCluster:
    directory: Path
    process: subprocess.Popen[bytes]

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    def socket(self, driver: str) -> str:
        """Any node's: the driver behind all of them is the same process."""
        return f"unix://{self.directory / 'run' / driver.partition('.')[0]}-node-0.sock"

    def slow_down_network_storage(self) -> None:
        """As it is elsewhere: kills then meet calls that have taken effect, without an answer."""
        script = [
            {"call": call, "do": "hang", "seconds": seconds, "when": "after", "times": 0}
            for call, seconds in SLOW_CALLS.items()
        ]
        where = driver_dir(ClusterOptions(data_dir=self.directory), POOLS)
        (where / FAULTS).write_text(yaml.safe_dump(script))

    def children(self) -> list[Victim]:
        """Those that run now, by name. One that was not yet started quite is left out."""
        found = []
        for entry in PROC.glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                if _parent(entry) == self.process.pid:
                    found.append(Victim(_name(entry), int(entry.name)))
        return sorted(found, key=lambda each: each.name)

    def kill(self, victim: Victim) -> bool:
        """As the kernel would; False if the process is gone already."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            handle = os.pidfd_open(victim.pid)
            try:
                # Looked at again through the handle's process: a number may be given out anew.
                if _parent(PROC / str(victim.pid)) == self.process.pid:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    return True
            finally:
                os.close(handle)
        return False


def _parent(entry: Path) -> int:
    return int((entry / "stat").read_text().rpartition(")")[2].split()[1])


def _name(entry: Path) -> str:
    """Raises IndexError for a process that does not run its program yet."""
    arguments = (entry / "cmdline").read_text().split("\0")[ARGUMENTS_FROM:]
    command = arguments[0]
    if command not in TELLING:
        return command
    telling = Path(arguments[arguments.index(TELLING[command]) + 1])
    return f"{command} {telling.stem.removesuffix('-node-0')}"


@contextlib.contextmanager
def started(directory: Path, log: Path) -> Iterator[KilledCluster]:
    """Raises AssertionError if it does not come up, or does not stop in peace."""
    command = [plimsoll(), "up", f"--data-dir={directory}", *UP, *_separate()]
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        _wait_until_up(process, log)
        yield KilledCluster(directory, process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    assert code == 0, f"up ended with {code}: {tail(log)}"


def _separate() -> Sequence[str]:
    """A process for each part, where that is not the only form there is."""
    told = subprocess.run([plimsoll(), "up", "--help"], capture_output=True, text=True, check=True)
    return [SEPARATE] if SEPARATE in told.stdout else []


def _wait_until_up(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while "plimsoll is up" not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"up did not come up: {tail(log)}")
        time.sleep(PAUSE_SECONDS)


def tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])


def mounted(directory: Path) -> list[str]:
    real = directory.resolve()
    return [str(mount.path) for mount in read_mounts() if mount.path.is_relative_to(real)]


def attached(directory: Path) -> list[str]:
    """Loop devices."""
    real = directory.resolve()
    return [str(device) for device, file in loops().items() if file.is_relative_to(real)]


def release(directory: Path) -> None:
    """Whatever went wrong, the machine stays as it was."""
    for path in reversed(mounted(directory)):
        subprocess.run(["umount", "--lazy", path], check=False, timeout=30)
    for device in attached(directory):
        subprocess.run(["losetup", "--detach", device], check=False, timeout=30)
