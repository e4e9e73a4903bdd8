"""`plimsoll` commands as processes of their own, kept up: one that ends is started again.

They are forked off a process that has loaded the program before. To the kernel each of them is a
process like any other; only its start takes a tenth of the time, and there are many starts here.
"""

import asyncio
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from plimsoll.runtime.forks import leave_forks_alone
from plimsoll.ui.cli.main import main

leave_forks_alone()
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "__main__",
        "plimsoll.apiserver.main",
        "plimsoll.processes.controller.main",
        "plimsoll.processes.driver.main",
        "plimsoll.processes.node.main",
        "plimsoll.processes.provisioner.main",
        "plimsoll.processes.scheduler.main",
        "plimsoll.ui.cli.apiserver",
        "plimsoll.ui.cli.controller",
        "plimsoll.ui.cli.driver",
        "plimsoll.ui.cli.node",
        "plimsoll.ui.cli.provisioner",
        "plimsoll.ui.cli.scheduler",
    ]
)
LOOK_SECONDS = 0.02
LEADING = "leadership acquired"
DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG: nothing outlives the one who started it."""


async def _nothing() -> None:
    pass


class KeptProcess:
    def __init__(
        self, name: str, arguments: tuple[str, ...], log: Path, environment: Mapping[str, str] = {}
    ) -> None:
        self.name = name
        self.on_end: Callable[[], Awaitable[None]] = _nothing
        self.on_start: Callable[[], Awaitable[None]] = _nothing
        """Called after each start; the process may not be ready yet."""
        self._arguments = arguments
        self._environment = dict(environment)
        self._log = log
        self._is_held = False
        self._begins_at = 0
        """Where the log of this life begins."""
        self._process: ForkServerProcess | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        """Whether this life of it has got its lease: from then on it acts."""
        with self._log.open(errors="replace") as log:
            log.seek(self._begins_at)
            return LEADING in log.read()

    async def start(self) -> None:
        self._spawn()
        await self.on_start()
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        self.kill()

    def kill(self) -> None:
        """As the kernel would: returns when it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def hold_down(self) -> None:
        """Ended, and not started again before `release`."""
        self._is_held = True
        self.kill()

    def release(self) -> None:
        self._is_held = False

    def _spawn(self) -> None:
        self._begins_at = self._log.stat().st_size if self._log.exists() else 0
        arguments = (self._arguments, self._environment, str(self._log))
        self._process = FORKS.Process(target=_run, args=arguments, daemon=True)
        self._process.start()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            has_ended = self._process is not None and self._process.exitcode is not None
            if has_ended and not self._is_held:
                await self.on_end()
                self._spawn()
                await self.on_start()


def _run(arguments: tuple[str, ...], environment: dict[str, str], log: str) -> None:
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.pop("KUBECONFIG", None)
    os.environ.update(environment)
    sys.argv = ["plimsoll", *arguments]
    main()
