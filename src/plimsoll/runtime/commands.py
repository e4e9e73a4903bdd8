"""External commands: an argument list, a time limit, and no shell.

A command gets no input unless some is given, and messages in no language but English (`LC_ALL=C`):
callers can rely on that when they parse its output. It runs in a process group of its own, which is
killed as a whole when the time is up or the caller is cancelled: no part of it goes on afterwards.
It is looked for in PATH, and then where the programs for root are: `su` leaves these out of PATH.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

WITHIN = timedelta(seconds=60)
KILLED_WITHIN = timedelta(seconds=5)
KEPT_OF_STDERR = 2000
PROGRAMS_FOR_ROOT = ("/usr/local/sbin", "/usr/sbin", "/sbin")


class CommandError(Exception):
    """The command failed, or could not be started, or took too long."""

    def __init__(
        self, command: str, *, code: int | None, stderr: str, timed_out: bool = False
    ) -> None:
        self.command = command
        self.code = code
        """None: it was not started, or had to be killed."""
        self.stderr = stderr[-KEPT_OF_STDERR:].strip()
        self.timed_out = timed_out
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        if self.timed_out:
            return f"{self.command}: took too long and was killed"
        if self.code is None:
            return f"{self.command}: cannot be started: {self.stderr}"
        return f"{self.command}: failed with code {self.code}: {self.stderr or 'no message'}"


@dataclass(frozen=True, slots=True)
class Completed:
    stdout: str


def search_path() -> str:
    """Where commands are looked for, written as PATH is."""
    given = os.environ.get("PATH", os.defpath)
    missing = (path for path in PROGRAMS_FOR_ROOT if path not in given.split(os.pathsep))
    return os.pathsep.join((given, *missing))


async def run(
    argv: Sequence[str | Path],
    *,
    within: timedelta = WITHIN,
    input: str | None = None,  # noqa: A002 - as in subprocess, and nothing here reads a terminal
    extra_environment: Mapping[str, str] | None = None,
) -> Completed:
    """Raises CommandError unless the command ends with code 0 in time."""
    command = Path(argv[0]).name
    given = None if input is None else input.encode()
    process = await _surely_started(argv, extra_environment or {}, reads=given is not None)
    try:
        async with asyncio.timeout(within.total_seconds()):
            stdout, stderr = await process.communicate(given)
    except TimeoutError as error:
        await _ended(process)
        raise CommandError(command, code=None, stderr="", timed_out=True) from error
    except asyncio.CancelledError:
        await _ended(process)
        raise
    if process.returncode != 0:
        raise CommandError(command, code=process.returncode, stderr=stderr.decode(errors="replace"))
    return Completed(stdout.decode(errors="replace"))


async def run_into_background(
    argv: Sequence[str | Path],
    *,
    within: timedelta = WITHIN,
    extra_environment: Mapping[str, str] | None = None,
) -> None:
    """For a command that leaves a daemon behind: its own end is waited for, and no output is read.

    The daemon may keep the output open for as long as it lives. Raises CommandError.
    """
    command = Path(argv[0]).name
    process = await _surely_started(argv, extra_environment or {}, reads=False, is_read=False)
    try:
        async with asyncio.timeout(within.total_seconds()):
            code = await process.wait()
    except TimeoutError as error:
        await _ended(process)
        raise CommandError(command, code=None, stderr="", timed_out=True) from error
    except asyncio.CancelledError:
        await _ended(process)
        raise
    if code != 0:
        raise CommandError(command, code=code, stderr="")


async def _surely_started(
    argv: Sequence[str | Path],
    environment: Mapping[str, str],
    *,
    reads: bool,
    is_read: bool = True,
) -> asyncio.subprocess.Process:
    """A caller that is cancelled while a command starts waits until it can be killed as a group.

    asyncio itself would kill the leader alone, and wait for as long as one of its children has its
    output open.
    """
    starting = asyncio.ensure_future(_started(argv, environment, reads=reads, is_read=is_read))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(CommandError):
            await _ended(await starting)
        raise


async def _started(
    argv: Sequence[str | Path], environment: Mapping[str, str], *, reads: bool, is_read: bool
) -> asyncio.subprocess.Process:
    output = asyncio.subprocess.PIPE if is_read else asyncio.subprocess.DEVNULL
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE if reads else asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PATH": search_path(), **environment, "LC_ALL": "C"},
        )
    except OSError as error:
        text = error.strerror or "unknown error"
        raise CommandError(Path(argv[0]).name, code=None, stderr=text) from error


async def _ended(process: asyncio.subprocess.Process) -> None:
    """When this returns the whole group is gone, also after a failure."""
    # Its leader may have ended while a child goes on: the group is killed in any case.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # The exit of a killed process is a matter of moments, unless it hangs in the kernel: then
    # waiting for it would hang the caller as well.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILLED_WITHIN.total_seconds()):
            await process.wait()
