"""What is written is there after any end; two drivers never share a directory."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from plimsoll.processes.driver.ledger import FILE_NAME, Ledger, LedgerError
from plimsoll.processes.driver.records import (
    Attachment,
    Part,
    RecordPhase,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)

PLACE = VolumePlacement(pools=("a",), parts=(Part(extent="a", bytes=5),), topology=({"zone": "a"},))


def a_volume(name: str, phase: RecordPhase = RecordPhase.READY) -> VolumeRecord:
    return VolumeRecord(
        id=f"id-{name}",
        name=name,
        size_bytes=5,
        mode=VolumeMode.FILESYSTEM,
        placement=PLACE,
        phase=phase,
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
        attachments=(Attachment(node_id="n", read_only=True),),
    )


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for name in "cab":
        ledger.volumes.put(a_volume(name))
    changed = msgspec.structs.replace(a_volume("a"), size_bytes=9)
    ledger.volumes.put(changed)
    ledger.volumes.drop("id-b")
    ledger.close()
    again = Ledger(tmp_path)
    assert again.volumes.all() == (a_volume("c"), changed)
    assert again.volumes.find_by_name("a") == changed
    assert again.volumes.find("id-b") is None
    again.close()


def test_numbers_are_never_given_twice(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.volumes.put(a_volume("a"))
    ledger.volumes.put(a_volume("b"))
    ledger.volumes.drop("id-b")
    ledger.close()
    again = Ledger(tmp_path)
    again.volumes.put(a_volume("c"))
    assert [number for number, _ in again.volumes.numbered()] == [1, 3]
    assert again.volumes.newest == 3
    again.close()


def test_a_second_driver_on_the_directory_is_told(tmp_path: Path) -> None:
    first = Ledger(tmp_path)
    with pytest.raises(LedgerError, match="another driver runs on this directory"):
        Ledger(tmp_path)
    first.close()
    Ledger(tmp_path).close()


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    Ledger(tmp_path / "new" / "directory").close()
    mode = (tmp_path / "new" / "directory" / FILE_NAME).stat().st_mode
    assert mode & 0o077 == 0


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / FILE_NAME)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(LedgerError, match="newer version"):
        Ledger(tmp_path)


def test_what_is_no_ledger_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"something else entirely, and long enough" * 50)
    with pytest.raises(LedgerError, match=FILE_NAME):
        Ledger(tmp_path)


def test_without_a_directory_nothing_is_kept() -> None:
    ledger = Ledger(None)
    ledger.volumes.put(a_volume("a"))
    assert ledger.volumes.find("id-a") == a_volume("a")
    ledger.close()
