"""A real node in a test: an API server in the same event loop, a directory, sockets and mounts."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from plimsoll.apiserver.admission.chain import FINISHED_BY_CONTROLLERS
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import ServerOptions, limits_for, make_server, running
from plimsoll.apiserver.server import ApiServer
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.processes.node.main import NodeProcess
from plimsoll.processes.node.settings import NodeProcessSettings, real_node
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import mounts_below, read_mount_points
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.engine.severed import Lifeline, SeverableTransport
from plimsoll.simulator.stories.cluster import StoryCluster
from plimsoll.wire.kube import KubeClient
from tests.processes.node.cutting_transport import CuttingTransport

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
DEADLINE_SECONDS = 60


class Machine:
    """One node over several lives of its process."""

    def __init__(self, server: ApiServer, directory: Path) -> None:
        self._server = server
        self.directory = directory
        self.registry = directory / "plugins_registry"
        self.registry.mkdir(parents=True)
        self.settings = NodeProcessSettings(
            node_name="node-0", data_dir=str(directory), labels="rack=r1"
        )
        # Stories' words for objects work here as well; only time is real.
        self.cluster = StoryCluster(server, SystemClock())  # type: ignore[arg-type]  # no story waits
        self._lifeline = Lifeline()
        self._life: asyncio.Future[None] | None = None

    async def start(self, *, cut_after: int | None = None) -> None:
        """A new life; it may end after so many writes."""
        self._lifeline = Lifeline()
        inner = CuttingTransport(
            InProcessTransport(self._server), self._lifeline, after_writes=cut_after
        )
        transport = SeverableTransport(inner, self._lifeline)
        client = KubeClient(transport, clock=SystemClock(), chance=Random(1), manager="node")
        process = NodeProcess(real_node(self.settings), client, self.settings)
        self._life = asyncio.ensure_future(process.run())

    async def kill(self) -> None:
        """Without a farewell."""
        self._lifeline.cut()
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)
            self._life = None

    @property
    def is_cut_off(self) -> bool:
        return self._lifeline.is_cut

    async def reboot(self) -> None:
        """The process ends, and nothing is mounted any more."""
        await self.kill()
        await self.unmount()

    async def unmount(self) -> None:
        for point in reversed(self.mounted()):
            await run(["umount", point])

    def mounted(self) -> list[str]:
        return mounts_below(self.directory, read_mount_points())

    def files(self) -> list[str]:
        """What there is below the directories of pods and plugins."""
        found = [
            path.relative_to(self.directory)
            for top in ("pods", "plugins")
            for path in (self.directory / top).rglob("*")
        ]
        return sorted(str(path) for path in found)

    async def phase(self, pod: str) -> str:
        found = await self.cluster.find("Pod", pod)
        return "gone" if found is None else str(found["status"].get("phase", ""))

    async def until(self, is_true: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not await is_true():  # noqa: ASYNC110 - it is about another process's doings
                await asyncio.sleep(0.02)

    async def until_phase(self, pod: str, phase: str) -> None:
        async def reached() -> bool:
            return await self.phase(pod) == phase

        await self.until(reached)

    async def until_drivers(self, *names: str) -> None:
        async def registered() -> bool:
            found = await self.cluster.find("CSINode", "node-0")
            drivers = (found or {"spec": {}})["spec"].get("drivers") or []
            return sorted(names) == sorted(driver["name"] for driver in drivers)

        await self.until(registered)


@asynccontextmanager
async def a_machine(directory: Path) -> AsyncIterator[Machine]:
    server = make_server(
        MemoryStore(),
        SystemClock(),
        seeded_ids(0),
        limits_for(timedelta(hours=1)),
        options=ServerOptions(disabled_plugins=FINISHED_BY_CONTROLLERS),
    )
    async with running(server):
        machine = Machine(server, directory / "node")
        try:
            yield machine
        finally:
            await machine.kill()
            await machine.unmount()
