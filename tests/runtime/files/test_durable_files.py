from pathlib import Path

import pytest

from plimsoll.runtime.files.durable_files import draft_of, sync_directory, write_file


def test_a_file_is_written_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "vol_data.json"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["vol_data.json"]


def test_what_a_crash_left_of_a_write_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "owner"
    draft_of(path).write_bytes(b"a long remainder of an earlier attempt")
    write_file(path, b"short")
    assert path.read_bytes() == b"short"
    assert not draft_of(path).exists()


def test_the_old_content_stays_when_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "owner"
    write_file(path, b"old")
    draft_of(path).mkdir()
    with pytest.raises(IsADirectoryError):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"


def test_only_a_directory_can_be_synced_as_one(tmp_path: Path) -> None:
    sync_directory(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        sync_directory(tmp_path / "file")
