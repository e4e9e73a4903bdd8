"""Locks of real processes on a real directory."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plimsoll.runtime.clock import SteppedClock, SystemClock
from plimsoll.ui.local_cluster.directory_lock import (
    ENDING_LIMIT,
    DirectoryInUseError,
    locked,
)

WAIT_FOR_INPUT = (sys.executable, "-c", "input()")


def left_over(descriptor: int) -> "subprocess.Popen[bytes]":
    """A process that inherited the lock and outlives the block that started it."""
    return subprocess.Popen(WAIT_FOR_INPUT, stdin=subprocess.PIPE, pass_fds=(descriptor,))


async def test_a_second_command_is_told_who_has_the_directory(tmp_path: Path) -> None:
    async with locked(tmp_path, SystemClock()):
        with pytest.raises(DirectoryInUseError, match=f"already running, pid {os.getpid()};"):
            async with locked(tmp_path, SystemClock()):
                pass


async def test_the_directory_is_free_again_after_the_block(tmp_path: Path) -> None:
    for _ in range(2):
        async with locked(tmp_path, SystemClock()):
            pass


async def test_the_next_command_waits_until_what_was_started_has_ended(tmp_path: Path) -> None:
    async with locked(tmp_path, SystemClock()) as descriptor:
        process = left_over(descriptor)
    taken = asyncio.Event()

    async def take() -> None:
        async with locked(tmp_path, SystemClock()):
            assert process.poll() is not None
            taken.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(take())
        await asyncio.sleep(0)
        assert not taken.is_set()
        process.kill()
        process.communicate()


async def test_what_never_ends_is_named(tmp_path: Path) -> None:
    async with locked(tmp_path, SystemClock()) as descriptor:
        process = left_over(descriptor)
    clock = SteppedClock()
    try:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(refused(tmp_path, clock))
            while not waiting.done():
                await clock.run(ENDING_LIMIT / 10)
        assert f"end them: pid {process.pid}" in waiting.result()
    finally:
        process.kill()
        process.communicate()


async def refused(directory: Path, clock: SteppedClock) -> str:
    with pytest.raises(DirectoryInUseError) as raised:
        async with locked(directory, clock):
            pass
    return str(raised.value)
