"""Children are real processes here: `plimsoll` commands that end, stay, or never get ready."""

import asyncio
import logging
import os
import signal
import ssl
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.runtime.clock import SystemClock
from plimsoll.ui.local_cluster.children import (
    COMMAND,
    Child,
    ChildEnvironment,
    ChildFailedError,
    kept_up,
)
from plimsoll.ui.local_cluster.health_watch import HealthRule
from plimsoll.wire.probe import is_answered

IMPATIENT = HealthRule(
    every=timedelta(milliseconds=100), limit=timedelta(milliseconds=500), misses=2
)


def child_environment(lines: list[str], health: HealthRule | None = None) -> ChildEnvironment:
    return ChildEnvironment(
        clock=SystemClock(),
        environment=dict(os.environ),
        on_line=lambda name, line: lines.append(f"{name}: {line}"),
        health=health,
    )


def server(directory: object, port: str = "0") -> Child:
    arguments = ("apiserver", "--data-dir", str(directory), "--port", port)
    authority = Path(str(directory)) / "pki" / "ca.crt"
    return Child(name="apiserver", arguments=arguments, authority=authority)


async def test_a_child_that_does_not_come_up_says_why() -> None:
    child = Child(name="scheduler", arguments=("scheduler", "--policy", "none"))
    with pytest.raises(ChildFailedError, match=r"scheduler did not come up: .*--policy"):
        async with kept_up([[child]], child_environment([])):
            pass


async def test_a_child_that_is_killed_is_started_again(tmp_path: object) -> None:
    async with kept_up([[server(tmp_path)]], child_environment([])) as children:
        (first,) = children.values()
        assert first.pid is not None
        before = first.pid
        os.kill(before, signal.SIGKILL)
        async with asyncio.timeout(timedelta(seconds=60).total_seconds()):
            await first.restarted()
        assert first.pid != before
        assert first.restarts == 1


async def test_a_child_that_is_alive_and_does_not_answer_is_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process takes connections and says nothing; only SIGKILL ends it."""
    monkeypatch.setattr("plimsoll.ui.local_cluster.children.STOP_LIMIT", timedelta(seconds=1))
    async with kept_up([[server(tmp_path)]], child_environment([], IMPATIENT)) as children:
        (child,) = children.values()
        assert child.pid is not None
        before = child.pid
        os.kill(before, signal.SIGSTOP)
        async with asyncio.timeout(timedelta(seconds=60).total_seconds()):
            await child.restarted()
        with pytest.raises(ProcessLookupError):
            os.kill(before, 0)
        assert await is_answered(
            f"{child.address}/healthz",
            timedelta(seconds=60),
            ssl.create_default_context(cafile=tmp_path / "pki" / "ca.crt"),
        )
    assert "process alive but silent, ended" in caplog.messages


async def test_no_child_is_left_when_the_block_ends(tmp_path: object) -> None:
    async with kept_up([[server(tmp_path)]], child_environment([])) as children:
        pid = children["apiserver"].pid
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_child_may_say_lines_of_any_length() -> None:
    lines: list[str] = []
    child = Child(name="scheduler", arguments=("scheduler", "--policy", "x" * 100_000))
    with pytest.raises(ChildFailedError, match="scheduler did not come up"):
        async with kept_up([[child]], child_environment(lines)):
            pass
    assert "x" * 100_000 in "".join(line.removeprefix("scheduler: ") for line in lines)


async def test_a_child_that_cannot_be_started_says_why() -> None:
    environment = {**os.environ, "TOO_LARGE": "x" * 200_000}
    too_large = replace(child_environment([]), environment=environment)
    with pytest.raises(ChildFailedError, match="apiserver cannot be started: Argument list"):
        async with kept_up([[server("unused")]], too_large):
            pass


class RepairWhenTold(logging.Handler):
    """Takes away what keeps children from starting once the log says that one did not start."""

    def __init__(self, environment: dict[str, str]) -> None:
        super().__init__()
        self._environment = environment

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "process not up again, is started once more":
            self._environment.pop("TOO_LARGE", None)


async def test_a_child_is_started_again_when_the_machine_allows_it_again(tmp_path: Path) -> None:
    context = child_environment([])
    async with kept_up([[server(tmp_path)]], context) as children:
        (child,) = children.values()
        assert child.pid is not None
        context.environment["TOO_LARGE"] = "x" * 200_000
        handler = RepairWhenTold(context.environment)
        logging.getLogger("plimsoll.ui.local_cluster.children").addHandler(handler)
        os.kill(child.pid, signal.SIGKILL)
        async with asyncio.timeout(timedelta(seconds=60).total_seconds()):
            await child.restarted()
        logging.getLogger("plimsoll.ui.local_cluster.children").removeHandler(handler)
        assert "TOO_LARGE" not in context.environment


def test_a_child_whose_starter_is_gone_already_does_nothing(tmp_path: Path) -> None:
    arguments = server(tmp_path / "data").arguments
    another = str(os.getppid())
    ended = subprocess.run(
        [*COMMAND, another, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == "the command that started it is gone\n"
    assert not (tmp_path / "data").exists()
