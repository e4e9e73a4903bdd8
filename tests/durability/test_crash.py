"""`kill -9` in the middle of everything: what was acknowledged stays, what was announced is true.

Each round writes at full speed, kills the server, starts it again on the same directory and looks
at every single object that was ever written.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.durability.ledger import Promise, Stored, Writer, stored
from tests.durability.watching import GONE, Watched, WatchThread, read_watch, versions_after
from tests.servers import EmbeddedServer, ServerDiedError

COLLECTION = "/api/v1/namespaces/default/configmaps"
WRITERS = 12


@dataclass(frozen=True, slots=True)
class Listed:
    version: int
    objects: dict[str, Stored]

    def versions(self) -> dict[str, int]:
        return {name: found.version for name, found in self.objects.items()}


@dataclass(frozen=True, slots=True)
class Round:
    """What one life of the server left behind in its clients."""

    before: Listed
    writers: list[Writer]
    seen: Watched

    def promises(self) -> dict[str, Promise]:
        return {name: kept for writer in self.writers for name, kept in writer.promises.items()}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path) as server:
        yield server


def listed(server: EmbeddedServer) -> Listed:
    code, answer = server.endpoint.request("GET", COLLECTION)
    assert code == 200, answer
    written = [item for item in answer["items"] if "text" in item.get("data", {})]
    return Listed(
        int(answer["metadata"]["resourceVersion"]),
        {item["metadata"]["name"]: stored(item) for item in written},
    )


def live_and_die(server: EmbeddedServer, chance: random.Random, number: int) -> Round:
    """Writers and a watcher at work until the server is killed under them."""
    before = listed(server)
    watch = WatchThread(
        server.endpoint, f"{COLLECTION}?watch=true&resourceVersion={before.version}"
    )
    watch.start()
    writers = [
        Writer(server.endpoint, COLLECTION, WRITERS * number + i, random.Random(chance.random()))
        for i in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    watch.wait_for(changes=50)
    time.sleep(chance.uniform(0.0, 0.8))
    server.kill()
    for thread in (*writers, watch):
        thread.join(30)
        assert not thread.is_alive(), "a client still waits for a server that is dead"
    return Round(before, writers, watch.watched)


def assert_promises_are_kept(promises: dict[str, Promise], after: Listed) -> None:
    broken = {
        name: (promise, after.objects.get(name))
        for name, promise in promises.items()
        if not promise.is_kept_by(after.objects.get(name))
    }
    assert not broken, f"{len(broken)} of {len(promises)} objects are not as acknowledged: {broken}"


def assert_watch_continues(
    server: EmbeddedServer, life: Round, after: Listed, *, position: int
) -> None:
    """From `position` in what was seen, nothing is missing and nothing is invented."""
    before, seen = life.before, life.seen
    version = seen.changes[position - 1].version if position else before.version
    path = f"{COLLECTION}?watch=true&resourceVersion={version}&timeoutSeconds=1"
    resumed = read_watch(server.endpoint, path, Watched())
    if resumed.error_code is not None:
        assert resumed.error_code == GONE
        return
    repeated = seen.changes[position:]
    assert resumed.changes[: len(repeated)] == repeated
    mirror = versions_after(before.versions(), seen.changes[:position] + resumed.changes)
    assert mirror == after.versions()


def test_acknowledged_writes_and_watches_survive_kill_9(server: EmbeddedServer) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    promises: dict[str, Promise] = {}
    for number in range(4):
        life = live_and_die(server, chance, number)
        promises |= life.promises()
        assert [refusal for writer in life.writers for refusal in writer.refusals] == []
        server.start()
        after = listed(server)
        assert_promises_are_kept(promises, after)
        for name, promise in promises.items():
            # What is there now is the truth for the rounds to come.
            promise.acknowledged, promise.under_way = after.objects.get(name), None
        changes = life.seen.changes
        assert changes, "the watcher saw nothing: the test is not testing"
        ordered = [change.version for change in changes]
        assert ordered == sorted(set(ordered)), "events came twice or out of order"
        for position in (0, chance.randrange(len(changes)), len(changes)):
            assert_watch_continues(server, life, after, position=position)
        assert_versions_go_on(server, max(after.version, ordered[-1]), number)
    assert len(promises) > 100, "too few writes to mean anything"


def assert_versions_go_on(server: EmbeddedServer, highest: int, number: int) -> None:
    """A version that a client may have seen is never given out again."""
    body: dict[str, Any] = {"metadata": {"name": f"after-{number}"}}
    code, answer = server.endpoint.request("POST", COLLECTION, body)
    assert code == 201, answer
    assert int(answer["metadata"]["resourceVersion"]) > highest


def test_a_second_server_on_the_same_data_is_refused(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    second = EmbeddedServer(tmp_path / "second", data=server.data)
    with pytest.raises(ServerDiedError, match="exit code 1") as death:
        second.start()
    # The administrator who reads this must not be told to throw the data away.
    assert "empty data directory" not in str(death.value)
    assert server.endpoint.request("GET", COLLECTION)[0] == 200


def test_a_polite_stop_is_quick_although_watches_are_open(server: EmbeddedServer) -> None:
    watches = [WatchThread(server.endpoint, f"{COLLECTION}?watch=true") for _ in range(5)]
    for watch in watches:
        watch.start()
    time.sleep(0.3)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 5
    for watch in watches:
        watch.join(5)
        assert not watch.is_alive()
