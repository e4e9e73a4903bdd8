"""SIGSTOP for longer than a lease: another controller takes over, and the first acts no more.

Real processes. What a leader does when it wakes depends on what comes first: its timers, which tell
it that the lease is over, or its work. The first test lets its work come first, so that only the
fence can stop it. The second leaves that to chance: it shows what is there in the end, not what
prevented the rest.
"""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability.controllers import (
    LONGEST,
    PODS,
    ControllerProcess,
    a_controller,
    create_set,
    pods,
    until,
)
from tests.durability.held_line import HeldLine
from tests.servers import EmbeddedServer

REPLICAS = 12


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path) as server:
        yield server


def wake(controller: ControllerProcess) -> None:
    """It ends soon after."""
    controller.process.send_signal(signal.SIGCONT)
    controller.process.wait(LONGEST)
    assert controller.process.returncode == 1, "it has to be started again"
    assert "another copy may act now" in controller.said


def test_a_leader_that_wakes_in_the_middle_of_a_plan_does_not_send_its_next_write(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    """The rest of its plan waits for the answer to the first pod, which the line holds back. The
    answer is in its socket when it wakes. From there to the next write it takes fewer turns of the
    event loop than from a timer that is due to the end of the leadership: without the fence a pod
    too many is created, every time.
    """
    with (
        HeldLine(server.endpoint).open() as line,
        a_controller(line.kubeconfig(tmp_path), tmp_path / "old") as old,
    ):
        until(lambda: "loops starting" in old.said, "the first controller leads")
        with a_controller(server.endpoint.kubeconfig, tmp_path / "new") as new:
            until(lambda: "leadership held" in new.said, "the second controller waits")
            line.hold_answer(f"POST {PODS}")
            create_set(server, "web", REPLICAS)
            until(lambda: len(pods(server)) == 1, "the first controller creates a pod")
            old.process.send_signal(signal.SIGSTOP)
            until(lambda: len(pods(server)) >= REPLICAS, "the second controller makes the rest")
            before, written = pods(server), len(line.written)

            line.deliver()
            wake(old)

            assert line.written[written:] == []
            assert pods(server) == before
            assert len(before) == REPLICAS
            assert "leadership lost by the clock" in old.said, "a write was turned away"


def test_the_next_controller_does_what_a_stopped_one_left_undone_and_clears_up_after_it(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    """The first one is stopped at any moment, also between the fence and the socket. A pod that it
    sends then is one too many, and the second controller deletes one again."""
    kubeconfig, sets = server.endpoint.kubeconfig, range(4)
    with a_controller(kubeconfig, tmp_path / "old") as old:
        until(lambda: "loops starting" in old.said, "the first controller leads")
        with a_controller(kubeconfig, tmp_path / "new") as new:
            for number in sets:
                create_set(server, f"begun-{number}", REPLICAS)
            until(lambda: len(pods(server)) > len(sets), "it makes pods")
            old.process.send_signal(signal.SIGSTOP)
            for number in sets:
                create_set(server, f"meanwhile-{number}", REPLICAS)
            wanted = 2 * len(sets) * REPLICAS
            until(lambda: len(pods(server)) >= wanted, "the second controller makes the rest")

            wake(old)

            until(lambda: len(pods(server)) == wanted, "as many pods as were asked for")
            assert "leadership acquired" in new.said
