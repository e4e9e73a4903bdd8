"""The disk fills up in the middle of work: errors, nothing half-true, recovery when there is room.

Two ways to run out of room: a small file system of its own (needs root), and a limit on the size
of files, which every user can set and which the server meets as a failing write.
"""

import contextlib
import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.durability.watching import WatchThread
from tests.servers import EmbeddedServer

COLLECTION = "/api/v1/namespaces/default/configmaps"
MEBIBYTE = 1 << 20
DISK_BYTES = 24 * MEBIBYTE
BALLAST_BYTES = 8 * MEBIBYTE
OBJECT_BYTES = 200_000
RECOVERY_SECONDS = 15
IN_A_ROW = 4


@dataclass(frozen=True, slots=True)
class TightServer:
    server: EmbeddedServer
    make_room: Callable[[], None]
    limit_ends_with_process: bool = False


@contextlib.contextmanager
def small_disk(directory: Path, *, kubeconfig: bool = False) -> Iterator[TightServer]:
    """A file system with a ballast file on it; removing the file makes room."""
    disk = directory / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(BALLAST_BYTES))
        server = EmbeddedServer(directory, data=disk / "data")
        if kubeconfig:
            server.kubeconfig = disk / "kubeconfig"
        with server:
            yield TightServer(server, ballast.unlink)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@contextlib.contextmanager
def small_files(directory: Path) -> Iterator[TightServer]:
    """No file may grow beyond a limit, which is lifted later."""
    with EmbeddedServer(directory) as server:

        def limit(limit_bytes: int) -> None:
            resource.prlimit(
                server.pid, resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY)
            )

        limit(3 * MEBIBYTE)
        yield TightServer(
            server, lambda: limit(resource.RLIM_INFINITY), limit_ends_with_process=True
        )


@pytest.fixture(params=[small_disk, small_files], ids=["small-disk", "file-size-limit"])
def tight(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TightServer]:
    with request.param(tmp_path) as tight:
        yield tight


def create(server: EmbeddedServer, name: str) -> tuple[int, Any]:
    body = {"metadata": {"name": name}, "data": {"text": name.ljust(OBJECT_BYTES, "x")}}
    return server.endpoint.request("POST", COLLECTION, body)


def names(server: EmbeddedServer) -> set[str]:
    code, answer = server.endpoint.request("GET", COLLECTION)
    assert code == 200, answer
    return {item["metadata"]["name"] for item in answer["items"]}


@dataclass(slots=True)
class Filled:
    acknowledged: set[str]
    refused: set[str] = field(default_factory=set)
    refusals: list[Any] = field(default_factory=list)


def fill(server: EmbeddedServer) -> Filled:
    """Creates objects until several in a row are refused.

    A single refusal is not the end: giving up on one batch may free the room for the next.
    """
    filled = Filled(names(server))
    in_a_row = 0
    for number in range(2 * DISK_BYTES // OBJECT_BYTES):
        code, answer = create(server, f"m-{number}")
        if code == 201:
            filled.acknowledged.add(f"m-{number}")
            in_a_row = 0
        else:
            filled.refused.add(f"m-{number}")
            filled.refusals.append(answer)
            in_a_row += 1
        if in_a_row == IN_A_ROW:
            return filled
    pytest.fail("the disk never filled up: the test is not testing")


def wait_until_writable(server: EmbeddedServer, name: str) -> None:
    deadline = time.monotonic() + RECOVERY_SECONDS
    while True:
        code, answer = create(server, name)
        if code == 201:
            return
        assert time.monotonic() < deadline, f"still no writes after room was made: {answer}"
        time.sleep(0.2)


def test_a_full_disk_is_an_error_and_nothing_else(tight: TightServer) -> None:
    server = tight.server
    filled = fill(server)
    for refusal in filled.refusals:
        assert (refusal["kind"], refusal["status"]) == ("Status", "Failure")
        assert refusal["code"] in (500, 503, 507)
        assert refusal["message"]

    # A refused write is not there, and reads go on.
    assert names(server) == filled.acknowledged
    refused = min(filled.refused)
    assert server.endpoint.request("GET", f"{COLLECTION}/{refused}")[0] == 404

    tight.make_room()
    wait_until_writable(server, "after")
    assert names(server) == filled.acknowledged | {"after"}

    server.kill()
    server.start()
    assert names(server) == filled.acknowledged | {"after"}


def test_a_server_that_dies_on_a_full_disk_comes_back_with_what_it_acknowledged(
    tight: TightServer,
) -> None:
    filled = fill(tight.server)
    tight.server.kill()
    if not tight.limit_ends_with_process:
        tight.make_room()
    tight.server.start()
    assert names(tight.server) == filled.acknowledged


def test_a_server_starts_again_on_a_disk_that_is_still_full(tmp_path: Path) -> None:
    """Its kubeconfig is on that disk as well."""
    with small_disk(tmp_path, kubeconfig=True) as tight:
        filled = fill(tight.server)
        disk = tight.server.data.parent
        with contextlib.suppress(OSError), (disk / "rest").open("wb", buffering=0) as rest:
            while rest.write(bytes(4096)):
                pass
        tight.server.kill()
        tight.server.start()
        assert names(tight.server) == filled.acknowledged
        tight.make_room()
        wait_until_writable(tight.server, "after")


def test_a_watcher_never_hears_of_a_write_that_failed(tight: TightServer) -> None:
    server = tight.server
    watch = WatchThread(server.endpoint, f"{COLLECTION}?watch=true")
    watch.start()
    filled = fill(server)
    tight.make_room()
    wait_until_writable(server, "after")
    # A polite stop ends the watch after everything that belongs to it.
    server.stop()
    watch.join(30)
    heard = [change.name for change in watch.watched.changes]
    assert sorted(heard) == sorted(filled.acknowledged | {"after"})
