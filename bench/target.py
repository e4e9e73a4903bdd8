"""The server under test, and what the kernel knows about its processes."""

import os
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Self

from bench.account import bound_account
from tests.servers import Endpoint

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class As(StrEnum):
    """Who asks."""

    ADMINISTRATOR = "administrator"
    ACCOUNT = "service account with a role"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    endpoint: Endpoint
    pids: tuple[int, ...] = field(default=())
    """Its processes, all of them; empty for a server that runs elsewhere."""
    ready_after: float | None = None
    """Seconds from start to ready, if the benchmark started it."""

    def asked_by(self, user: As) -> Self:
        """The same server, asked by another user, which is made for that."""
        if user is As.ADMINISTRATOR:
            return self
        return replace(self, endpoint=bound_account(self.endpoint))

    def resident_bytes(self) -> int | None:
        """Memory that the server holds, all processes together."""
        return sum(_resident_bytes(pid) for pid in self._family()) if self.pids else None

    def cpu_seconds(self) -> float | None:
        """Processor time spent since the start, all processes together."""
        return sum(_cpu_seconds(pid) for pid in self._family()) if self.pids else None

    def _family(self) -> list[int]:
        found: list[int] = []
        waiting = list(self.pids)
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        return found


def _resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _cpu_seconds(pid: int) -> float:
    # The command's name may hold spaces; what follows its closing bracket does not.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def machine_busy_seconds() -> float:
    """Processor time that this whole machine has spent on anything, all cores together."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _waiting, *interrupts = (int(field) for field in fields[:8])
    return (user + nice + system + sum(interrupts)) / TICKS_PER_SECOND
