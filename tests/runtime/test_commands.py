import asyncio
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from plimsoll.runtime.commands import CommandError, run, run_into_background

SOON = timedelta(seconds=20)


async def test_output_comes_back() -> None:
    assert (await run(["echo", "two words"], within=SOON)).stdout == "two words\n"


async def test_nothing_is_read_by_a_shell() -> None:
    assert (await run(["echo", "$HOME", ";", "ls"], within=SOON)).stdout == "$HOME ; ls\n"


async def test_input_is_passed_on_and_ends() -> None:
    assert (await run(["cat"], within=SOON, input="from here")).stdout == "from here"
    assert (await run(["cat"], within=SOON)).stdout == ""


async def test_messages_are_in_english() -> None:
    assert "LC_ALL=C\n" in (await run(["env"], within=SOON)).stdout


async def test_programs_for_root_are_found_where_path_leaves_them_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in the shell that su(1) opens. `chroot` is a program for root of every system."""
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    assert "chroot" in (await run(["chroot", "--version"], within=SOON)).stdout
    said = (await run(["env"], within=SOON)).stdout
    assert "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin\n" in said


async def test_what_path_has_is_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/sbin:/usr/bin:/bin")
    said = (await run(["env"], within=SOON)).stdout
    assert "PATH=/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin\n" in said


async def test_a_failure_carries_code_and_message() -> None:
    with pytest.raises(CommandError, match=r"ls: failed with code 2: .*No such file") as refused:
        await run(["ls", "/does/not/exist"], within=SOON)
    assert (refused.value.code, refused.value.timed_out) == (2, False)


async def test_an_unknown_command_is_an_error_like_others() -> None:
    with pytest.raises(CommandError, match="no-such-command: cannot be started") as refused:
        await run(["no-such-command"], within=SOON)
    assert refused.value.code is None


async def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 1000 & echo $! $$ > {pids}; wait"
    with pytest.raises(CommandError, match="took too long") as refused:
        await run(["sh", "-c", script], within=timedelta(seconds=1))
    assert refused.value.timed_out
    for pid in pids.read_text().split():
        await _until(partial(_is_gone, int(pid)))


async def test_a_cancelled_caller_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 1000 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait"
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(run(["sh", "-c", script], within=SOON))
        await _until(pids.exists)
        waiting.cancel()
    for pid in pids.read_text().split():
        await _until(partial(_is_gone, int(pid)))


async def test_a_caller_cancelled_while_the_command_starts_leaves_no_process(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 1000 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait"
    for turns in range(1, 8):
        pids.unlink(missing_ok=True)
        async with asyncio.TaskGroup() as tasks:
            starting = tasks.create_task(run(["sh", "-c", script], within=SOON))
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
        for pid in pids.read_text().split() if pids.exists() else ():
            await _until(partial(_is_gone, int(pid)))


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - about other processes, which set no event
            await asyncio.sleep(0.01)


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # The first process of the machine collects an orphan's end, sooner or later.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


async def test_a_daemon_that_keeps_its_output_open_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    daemon = f"sleep 30 & echo $! >{file}"
    began = time.monotonic()
    await run_into_background(["sh", "-c", daemon])
    assert time.monotonic() - began < 10
    os.kill(int(file.read_text()), signal.SIGKILL)


async def test_a_command_that_leaves_no_daemon_fails_with_its_code() -> None:
    with pytest.raises(CommandError) as raised:
        await run_into_background(["sh", "-c", "exit 3"])
    assert raised.value.code == 3
