"""Processes started and kept up: each is a `plimsoll` command of its own.

A child that ends is started again, after a pause that grows while it keeps ending. One that is
alive and does not answer is ended first. Stages of children are stopped in the reverse order of
their start, so that a child ends before those that it needs.
"""

import asyncio
import contextlib
import logging
import os
import re
import sys
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.local_cluster.health_watch import HealthPage, HealthRule, until_silent

log = logging.getLogger(__name__)

START_LIMIT = timedelta(seconds=60)
STOP_LIMIT = timedelta(seconds=15)
AGAIN = Backoff(first=timedelta(milliseconds=500), limit=timedelta(seconds=10))
"""Of processes, and of parts of one. Shorter than kubelet's five minutes: a user waits for it, and
no other cluster suffers from it."""
LONG_LIFE = timedelta(minutes=1)
"""A child that lived so long did not end because of how it was started."""
FIRST_OF_ALL = (
    # The kernel ends the child (15: SIGTERM) when we are gone, however that came about. It does not
    # do so if we were gone before the child could ask for it: then the child has another parent.
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); "
    "os.getppid() == int(sys.argv.pop(1)) or sys.exit('the command that started it is gone'); "
    "from plimsoll.ui.cli.main import main; main()"
)
COMMAND = (sys.executable, "-c", FIRST_OF_ALL)
"""Followed by the id of the process that starts it, and the arguments of `plimsoll`."""

ADDRESS = re.compile(r"https?://127\.0\.0\.1:\d+[^\s;,]*")
PATH = re.compile(r"(?<=\d)/.*")
PARTS = re.compile(r"(?:ready: |, )([^,]+) (" + ADDRESS.pattern + ")")
"""Where the parts of a process answer, as the first line of one that has several says."""


class ChildFailedError(Exception):
    """A child did not come up; the message has its name and what it said last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    name: str
    arguments: tuple[str, ...]
    """Of the `plimsoll` command."""
    environment: tuple[tuple[str, str], ...] = ()
    """On top of ours."""
    authority: Path | None = None
    """Whose certificate it shows, if it answers with one."""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnvironment:
    """What children are started in."""

    clock: Clock
    environment: dict[str, str]
    on_line: Callable[[str, str], None]
    """Gets the name of a child and a line of its log."""
    inherited: tuple[int, ...] = ()
    """Open files that children hold for as long as they live."""
    health: HealthRule | None = field(default_factory=HealthRule)
    """When a child that does not answer is ended; None: never, for users with a debugger."""
    on_restart: Callable[[], None] = _nothing
    """Called when a child is up again; its address may be another one."""


class RunningChild:
    def __init__(self, child: Child, environment: ChildEnvironment) -> None:
        self.child = child
        self.restarts = 0
        self.address = ""
        """Where it answers, as its first line says; empty if it does not say."""
        self.parts: list[tuple[str, str]] = []
        """Where its parts answer, by name; empty for a process that is one part."""
        self._environment = environment
        self._process: Process | None = None
        self._last_lines: list[str] = []
        self._keeper: asyncio.Future[None] | None = None
        self._again = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Return when it says that it is ready. Raises ChildFailedError."""
        process, reader = await self._spawn()
        self._keeper = asyncio.ensure_future(self._keep_up(process, reader))

    async def restarted(self) -> None:
        """Return when it was started again, after it ended, and is ready."""
        await self._again.wait()
        self._again.clear()

    async def stop(self) -> None:
        keeper, process = self._keeper, self._process
        if keeper is not None:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
        if process is not None and process.returncode is None:
            await _ended(process)

    async def _spawn(self) -> "tuple[Process, asyncio.Future[None]]":
        child = self.child
        process = self._process = await self._created()
        reader = asyncio.ensure_future(self._read_log(process))
        try:
            async with asyncio.timeout(START_LIMIT.total_seconds()):
                # The first line on stdout says that it is ready; a child that ends says nothing.
                assert process.stdout is not None  # noqa: S101 - PIPE was asked for
                ready = await process.stdout.readline()
        except TimeoutError:
            ready = b""
        except asyncio.CancelledError:
            await _ended(process)
            raise
        if not ready:
            await _ended(process)
            await reader
            raise ChildFailedError(f"{child.name} did not come up: {self._said()}")
        line = ready.decode(errors="replace")
        found = ADDRESS.search(line)
        self.address = found.group() if found else ""
        self.parts = PARTS.findall(line)
        return process, reader

    async def _created(self) -> Process:
        """A process that exists is never lost sight of, even if we are cancelled meanwhile.

        Raises ChildFailedError.
        """
        creating = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *COMMAND,
                str(os.getpid()),
                *self.child.arguments,
                env={**self._environment.environment, **dict(self.child.environment)},
                stdout=PIPE,
                stderr=PIPE,
                pass_fds=self._environment.inherited,
                # Ctrl-C in a terminal is for us: children end in their order.
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(creating)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                await _ended(await creating)
            raise
        except OSError as error:  # no memory, or no process more
            text = error.strerror or str(error)
            raise ChildFailedError(f"{self.child.name} cannot be started: {text}") from error

    async def _keep_up(self, process: Process, reader: "asyncio.Future[None]") -> None:
        clock, failures, begun = self._environment.clock, 0, self._environment.clock.monotonic()
        while True:
            code = await self._life_of(process)
            await reader
            if clock.monotonic() - begun > LONG_LIFE.total_seconds():
                failures = 0
            log.warning("process ended", extra={"child": self.child.name, "code": code})
            while True:
                await clock.sleep(AGAIN.delay(failures, system_chance()))
                failures, begun = failures + 1, clock.monotonic()
                try:
                    process, reader = await self._spawn()
                    break
                except ChildFailedError as error:
                    facts = {"child": self.child.name, "error": str(error)}
                    log.warning("process not up again, is started once more", extra=facts)
            self.restarts += 1
            self._environment.on_restart()
            self._again.set()

    async def _life_of(self, process: Process) -> int:
        """The exit code of a process that ended, or was ended because it did not answer."""
        rule = self._environment.health
        if rule is None or not self.address:
            return await process.wait()
        page = HealthPage(
            url=PATH.sub("", self.address) + "/healthz", authority=self.child.authority
        )
        ended = asyncio.ensure_future(process.wait())
        silent = asyncio.ensure_future(until_silent(page, rule, self._environment.clock))
        try:
            await asyncio.wait((ended, silent), return_when=asyncio.FIRST_COMPLETED)
            if silent.done():
                silent.result()
                log.warning(
                    "process alive but silent, ended",
                    extra={"child": self.child.name, "pid": process.pid, "asked": page.url},
                )
                await _ended(process)
            return await ended
        finally:
            for task in (ended, silent):
                task.cancel()
            await asyncio.gather(ended, silent, return_exceptions=True)

    async def _read_log(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101 - PIPE was asked for
        async for raw in _lines(process.stderr):
            line = raw.decode(errors="replace").rstrip()
            self._last_lines = [*self._last_lines[-4:], line]
            self._environment.on_line(self.child.name, line)

    def _said(self) -> str:
        return " | ".join(self._last_lines) or "it said nothing"


async def _lines(stream: StreamReader) -> AsyncIterator[bytes]:
    """However long: a child whose log is not read any more stops at its next line."""
    while True:
        try:
            line = await stream.readuntil()
        except IncompleteReadError as end:
            if end.partial:
                yield end.partial
            return
        except LimitOverrunError as overrun:
            line = await stream.readexactly(overrun.consumed)
        yield line


async def _ended(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_LIMIT.total_seconds()):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


@asynccontextmanager
async def kept_up(
    stages: Sequence[Sequence[Child]], environment: ChildEnvironment
) -> AsyncIterator[dict[str, RunningChild]]:
    """Children by name. Those of one stage start together, a stage when the one before is up.

    Raises ChildFailedError.
    """
    running: dict[str, RunningChild] = {}
    async with AsyncExitStack() as stack:
        for stage in stages:
            started = [RunningChild(child, environment) for child in stage]
            stack.push_async_callback(_all_stopped, started)
            running |= {each.child.name: each for each in started}
            await _all_started(started)
        yield running


async def _all_stopped(children: Sequence[RunningChild]) -> None:
    await asyncio.gather(*(each.stop() for each in children))


async def _all_started(children: Sequence[RunningChild]) -> None:
    """All of them, or none: the first that fails ends the start of the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in children:
                group.create_task(each.start())
    except ExceptionGroup as failures:
        failed, others = failures.split(ChildFailedError)
        if failed is None or others is not None:
            raise
        # Not by `except*`: what is raised there comes out in a group again with Python 3.11.2.
        raise failed.exceptions[0] from None
