"""Nothing leaves the simulation: what a run does depends on its seed alone."""

import asyncio
import os
import socket
import subprocess
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from plimsoll.simulator.engine.loop import EscapeError, VirtualLoop, run_virtually

ASKING_THE_LOOP: dict[str, Callable[[], Awaitable[object]]] = {
    "executor": lambda: asyncio.get_running_loop().run_in_executor(None, int),
    "thread": lambda: asyncio.to_thread(int),
    "program": lambda: asyncio.create_subprocess_exec("true"),
    "shell": lambda: asyncio.create_subprocess_shell("true"),
    "connection": lambda: asyncio.open_connection("127.0.0.1", 1),
    "unix-connection": lambda: asyncio.open_unix_connection("/nonexistent"),
    "server": lambda: asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0),
    "name": lambda: asyncio.get_running_loop().getaddrinfo("localhost", 1),
}


def start_a_thread() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


PAST_THE_LOOP: dict[str, Callable[[], object]] = {
    "thread": start_a_thread,
    "pool": lambda: ThreadPoolExecutor().submit(len, "a").result(),
    "program": lambda: subprocess.run(["true"], check=True),
    "fork": lambda: os.fork() or os._exit(0),
    "socket": socket.socket,
    "name": lambda: socket.getaddrinfo("localhost", 1),
    "address": lambda: socket.gethostbyaddr("127.0.0.1"),
    "name-of-address": lambda: socket.getnameinfo(("127.0.0.1", 1), 0),
}


@pytest.mark.parametrize("way", ASKING_THE_LOOP)
def test_the_loop_has_nothing_of_the_machine(way: str) -> None:
    async def leave(_loop: VirtualLoop) -> None:
        await ASKING_THE_LOOP[way]()

    with pytest.raises(EscapeError):
        run_virtually(leave)


@pytest.mark.parametrize("way", PAST_THE_LOOP)
def test_a_run_ends_where_a_program_goes_past_the_loop(way: str) -> None:
    async def leave(_loop: VirtualLoop) -> None:
        PAST_THE_LOOP[way]()
        await asyncio.sleep(1)

    with pytest.raises(EscapeError):
        run_virtually(leave)


@pytest.mark.parametrize("use", ["bind", "connect", "sendto"])
def test_a_socket_from_before_cannot_be_used_in_a_run(use: str) -> None:
    uses: dict[str, Callable[[socket.socket], object]] = {
        "bind": lambda each: each.bind(("127.0.0.1", 0)),
        "connect": lambda each: each.connect(("127.0.0.1", 9)),
        "sendto": lambda each: each.sendto(b"", ("127.0.0.1", 9)),
    }

    async def leave(_loop: VirtualLoop) -> None:
        uses[use](opened)
        await asyncio.sleep(1)

    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened,
        pytest.raises(EscapeError, match=f"socket.{use}"),
    ):
        run_virtually(leave)


def test_a_program_that_catches_the_error_and_goes_on_does_not_hide_it() -> None:
    gone_on: list[str] = []

    async def supervised(_loop: VirtualLoop) -> None:
        with suppress(Exception):
            await asyncio.to_thread(int)
        gone_on.append("in this turn")
        await asyncio.sleep(1)
        gone_on.append("in another one")

    with pytest.raises(EscapeError, match="would run in a thread"):
        run_virtually(supervised)
    assert gone_on == ["in this turn"]


def test_a_thread_from_before_cannot_call_into_the_simulation() -> None:
    begin, refused = threading.Event(), list[str]()
    loops: list[VirtualLoop] = []

    def call() -> None:
        begin.wait()
        try:
            loops[0].call_soon_threadsafe(int)
        except EscapeError as error:
            refused.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()

    async def wait_for_it(loop: VirtualLoop) -> None:
        loops.append(loop)
        begin.set()
        thread.join()
        await asyncio.sleep(1)

    with pytest.raises(EscapeError, match="a thread called into the simulation"):
        run_virtually(wait_for_it)
    assert refused


def test_outside_a_simulation_all_of_it_is_allowed() -> None:
    async def ordinary() -> int:
        return await asyncio.to_thread(int)

    assert asyncio.run(ordinary()) == 0
