"""A damaged database is noticed at start, named by `check`, and healed from a backup."""

import contextlib
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers import EmbeddedServer, ServerDiedError, plimsoll

COLLECTION = "/api/v1/namespaces/default/configmaps"
PAGE_BYTES = 4096
OBJECTS = 200


def run(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [plimsoll(), "apiserver", "--data-dir", str(data), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def database(server: EmbeddedServer) -> Path:
    files = [file for file in server.data.rglob("*") if file.is_file()]
    return next(file for file in files if file.read_bytes()[:15] == b"SQLite format 3")


def names(server: EmbeddedServer) -> set[str]:
    _, answer = server.endpoint.request("GET", COLLECTION)
    return {item["metadata"]["name"] for item in answer["items"]}


def fill(server: EmbeddedServer) -> None:
    with contextlib.closing(server.endpoint.connect()) as connection:
        for number in range(OBJECTS):
            body = {"metadata": {"name": f"m-{number}"}, "data": {"text": f"marker-{number}-"}}
            assert server.endpoint.ask(connection, "POST", COLLECTION, body)[0] == 201


@pytest.fixture
def stopped(tmp_path: Path) -> EmbeddedServer:
    """A server with some objects that has ended in peace, everything in one file."""
    with EmbeddedServer(tmp_path) as server:
        fill(server)
    with sqlite3.connect(database(server)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()
    return server


def flip_a_letter(file: Path) -> None:
    """One letter of one stored document: SQLite itself does not notice."""
    content = bytearray(file.read_bytes())
    place = content.rindex(b"marker-100-")
    content[place] ^= 0x20
    file.write_bytes(content)


def overwrite_pages(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // PAGE_BYTES // 2 * PAGE_BYTES
    content[middle : middle + 4 * PAGE_BYTES] = b"\xa5" * (4 * PAGE_BYTES)
    file.write_bytes(content)


def cut_in_half(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // PAGE_BYTES // 2 * PAGE_BYTES])


def lose_a_row(file: Path) -> None:
    """Everything reads well, yet something that was acknowledged is missing."""
    with sqlite3.connect(file) as db:
        db.execute("DELETE FROM log WHERE revision = (SELECT max(revision) - 50 FROM log)")
    db.close()


def replace_with_text(file: Path) -> None:
    file.write_text("This is no database.\n" * 1000)


DAMAGES = [flip_a_letter, overwrite_pages, cut_in_half, lose_a_row, replace_with_text]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.replace("_", "-"))
def test_a_damaged_file_is_refused_and_healed_from_a_backup(
    damage: Callable[[Path], None], stopped: EmbeddedServer, tmp_path: Path
) -> None:
    data, backup = stopped.data, tmp_path / "backup.db"
    file = database(stopped)
    assert run(data, "check").returncode == 0
    made = run(data, "backup", str(backup))
    assert made.returncode == 0, made.stderr
    damage(file)

    with pytest.raises(ServerDiedError, match="exit code 1") as death:
        stopped.start()
    assert str(file) in str(death.value)
    assert "restore" in str(death.value)
    assert "Traceback" not in str(death.value)

    checked = run(data, "check")
    assert checked.returncode == 1
    assert str(file) in checked.stdout + checked.stderr

    restored = run(data, "restore", str(backup))
    assert restored.returncode == 0, restored.stderr
    stopped.start()
    assert {f"m-{number}" for number in range(OBJECTS)} <= names(stopped)
    stopped.stop()


@pytest.mark.parametrize("words", [("check",), ("backup", "copy.db")], ids=["check", "backup"])
def test_a_server_at_work_is_not_called_damaged(words: tuple[str, ...], tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        ended = run(server.data, *words[:1], *(str(tmp_path / word) for word in words[1:]))
        said = ended.stdout + ended.stderr
        assert ended.returncode == 0 or "running" in said, said
        # The administrator who reads this must not be told to throw the data away.
        assert "empty data directory" not in said
        assert server.endpoint.request("GET", COLLECTION)[0] == 200


def test_a_damaged_backup_is_not_restored(stopped: EmbeddedServer, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    run(stopped.data, "backup", str(backup))
    flip_a_letter(backup)
    refused = run(stopped.data, "restore", str(backup))
    assert refused.returncode == 1
    stopped.start()
    assert "m-0" in names(stopped)
    stopped.stop()


def test_a_file_of_a_later_release_is_left_alone(stopped: EmbeddedServer) -> None:
    with sqlite3.connect(database(stopped)) as db:
        db.execute("PRAGMA user_version = 9999")
    db.close()
    with pytest.raises(ServerDiedError, match="version 9999"):
        stopped.start()
