"""Children are real processes here: `plimsoll` commands that end, stay, or never get ready."""

import asyncio
import os
import signal
from datetime import timedelta

import pytest

from plimsoll.runtime.clock import SystemClock
from plimsoll.ui.local_cluster.children import Around, Child, ChildFailedError, kept_up


def around(lines: list[str]) -> Around:
    return Around(
        clock=SystemClock(),
        environment=dict(os.environ),
        on_line=lambda name, line: lines.append(f"{name}: {line}"),
    )


def server(directory: object, port: str = "0") -> Child:
    arguments = ("apiserver", "--data-dir", str(directory), "--port", port)
    return Child(name="apiserver", arguments=arguments)


async def test_a_child_that_does_not_come_up_says_why() -> None:
    child = Child(name="scheduler", arguments=("scheduler", "--policy", "none"))
    with pytest.raises(ChildFailedError, match=r"scheduler did not come up: .*--policy"):
        async with kept_up([[child]], around([])):
            pass


async def test_a_child_that_is_killed_is_started_again(tmp_path: object) -> None:
    async with kept_up([[server(tmp_path)]], around([])) as children:
        (first,) = children.values()
        assert first.pid is not None
        before = first.pid
        os.kill(before, signal.SIGKILL)
        async with asyncio.timeout(timedelta(seconds=60).total_seconds()):
            await first.restarted()
        assert first.pid != before
        assert first.restarts == 1


async def test_no_child_is_left_when_the_block_ends(tmp_path: object) -> None:
    async with kept_up([[server(tmp_path)]], around([])) as children:
        pid = children["apiserver"].pid
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
