"""Processes of ceph-fuse: how one that mounts a directory is found again, asked, and ended.

It outlives the driver. So its number, and the address by which the cluster knows it, are written
down beside its mount point. It answers on a socket of its own whether it is still welcome in the
cluster, without asking the cluster.
"""

import contextlib
import json
import os
import signal
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from plimsoll.runtime.files.durable_files import write_file

ANSWERED_WITHIN = 2.0
STATUS = b'{"prefix": "status", "format": "json"}\0'
LONGEST_ADDRESS = 107
"""Bytes that the path of a socket may have."""
CREDENTIALS = struct.Struct("3i")
START_TIME = 19
"""In /proc/PID/stat, counted after the name."""


class FuseClient(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    started: str
    """When, in ticks since the machine started: numbers of processes are used again."""
    address: str

    @property
    def is_alive(self) -> bool:
        return start_time(self.pid) == self.started

    def kill(self) -> None:
        if self.is_alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuseStatus:
    pid: int
    address: str
    is_fenced: bool


def ask_client(path: Path) -> FuseStatus | None:
    """What the process at the socket tells; None: there is none, or it hangs. Blocks for a moment.

    The kernel knows who listens there.
    """
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(ANSWERED_WITHIN)
            asking.connect(str(path))
            peer = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
            asking.sendall(STATUS)
            told = _answer(asking)
    except (OSError, ValueError):
        return None
    pid, _, _ = CREDENTIALS.unpack(peer)
    return FuseStatus(pid=pid, address=told["addr_str"], is_fenced=told["blocklisted"])


def _answer(asking: socket.socket) -> Any:
    """A length of four bytes, and that many bytes of JSON."""
    with asking.makefile("rb") as file:
        length = int.from_bytes(file.read(4), "big")
        return json.loads(file.read(length))


def start_time(pid: int) -> str:
    """Empty: there is no such process."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = told.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[START_TIME]


def write_client(file: Path, client: FuseClient) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, msgspec.json.encode(client))


def read_client(file: Path) -> FuseClient | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=FuseClient)
    except (OSError, msgspec.DecodeError):
        return None
