"""What a user gets to read when the server's directory is not as it should be."""

import socket
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plimsoll.apiserver.storage.sqlite_file import FILE_NAME
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.ui.cli.apiserver import apiserver


def run(data: Path, *arguments: object) -> Result:
    return CliRunner().invoke(apiserver, ["--data-dir", str(data), *map(str, arguments)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    SqliteStore(directory / FILE_NAME, first=1).close()
    return directory


def says(result: Result, *words: str) -> bool:
    """One sentence on an error, and exit code 1."""
    lines = result.output.strip().splitlines()
    return (result.exit_code, len(lines)) == (1, 1) and all(word in lines[0] for word in words)


def test_a_backup_that_cannot_be_written_is_an_error_with_a_sentence(
    data: Path, tmp_path: Path
) -> None:
    assert says(run(data, "backup", tmp_path / "missing" / "copy"), "No such file")
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert says(run(data, "backup", taken), "exists")
    assert taken.read_text() == "mine"


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--event-ttl", "0", "it must be longer than nothing"),
        ("--event-ttl", "10", "write it like 90s"),
        ("--service-cluster-ip-range", "10.0.0.0", "has fewer than 8 addresses"),
        ("--service-node-port-range", "many", "many"),
        ("--authorization-mode", "Rbac", "there are AlwaysAllow"),
    ],
)
def test_an_option_that_cannot_work_is_refused_by_its_name(
    data: Path, option: str, value: str, words: str
) -> None:
    ended = run(data, option, value)
    assert ended.exit_code == 2
    assert option in ended.output
    assert words in ended.output


@pytest.mark.parametrize("content", [b"", b"not a database, though long enough to look at"])
def test_what_is_no_backup_is_refused_and_stays_as_it_was(
    data: Path, tmp_path: Path, content: bytes
) -> None:
    source = tmp_path / "source"
    source.write_bytes(content)
    assert says(run(data, "restore", source), str(source))
    assert source.read_bytes() == content
    assert [path.name for path in data.iterdir()] == [FILE_NAME]
    assert run(data, "check").exit_code == 0


def test_a_backup_can_be_restored_and_is_not_changed_by_that(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert run(data, "backup", copy).exit_code == 0
    copy.chmod(0o400)
    before = copy.read_bytes()
    assert run(data, "restore", copy).exit_code == 0
    assert copy.read_bytes() == before
    assert run(data, "check").exit_code == 0


def test_a_file_in_use_is_named_and_nothing_is_changed(data: Path, tmp_path: Path) -> None:
    store = SqliteStore(data / FILE_NAME)
    try:
        for command in (("check",), ("backup", tmp_path / "copy")):
            assert says(run(data, *command), FILE_NAME, "nothing was changed")
    finally:
        store.close()


def test_damaged_keys_are_named_with_a_way_out(data: Path) -> None:
    (data / "pki").mkdir()
    for name in ("ca.crt", "ca.key"):
        (data / "pki" / name).write_text("garbage")
    assert says(run(data, "--port", 0), "ca.crt", "remove both")


def test_a_port_that_is_taken_is_named_with_the_remedy(data: Path) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert says(
            run(data, "--port", port),
            f"the API cannot be served on 127.0.0.1:{port}: another program listens there;"
            " choose another port, or 0 for a free one",
        )


def test_a_directory_that_cannot_be_made_is_named_before_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    directory = tmp_path / "file" / "data"
    assert says(run(directory, "--port", 0), f"Error: {directory}: Not a directory")
