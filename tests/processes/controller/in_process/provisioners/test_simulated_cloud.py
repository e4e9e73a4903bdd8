from pathlib import Path

import pytest

from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import (
    CloudDisk,
    SimulatedCloud,
    ZoneFullError,
)


def a_disk(name: str = "one", *, size: int = 10, zones: tuple[str, ...] = ("a",)) -> CloudDisk:
    return CloudDisk(name=name, size_bytes=size, type="ssd", zones=zones)


def test_creating_twice_makes_one_disk() -> None:
    cloud = SimulatedCloud()
    assert cloud.create(a_disk()) == cloud.create(a_disk(size=99)) == a_disk()
    assert cloud.disks == [a_disk()]


def test_deleting_what_is_gone_does_nothing() -> None:
    cloud = SimulatedCloud()
    cloud.create(a_disk())
    cloud.delete("one")
    cloud.delete("one")
    assert cloud.disks == []


def test_a_zone_holds_no_more_than_it_can() -> None:
    cloud = SimulatedCloud(zone_bytes=15)
    cloud.create(a_disk("one", zones=("a", "b")))
    with pytest.raises(ZoneFullError) as full:
        cloud.create(a_disk("two", zones=("c", "b")))
    assert (full.value.zone, full.value.free_bytes) == ("b", 5)
    assert cloud.free_bytes("c") == 15


def test_disks_are_there_again_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "cloud" / "disks.json"
    cloud = SimulatedCloud(file)
    cloud.create(a_disk("one"))
    cloud.create(a_disk("two"))
    cloud.delete("one")
    assert SimulatedCloud(file).disks == [a_disk("two")]


def test_two_processes_with_one_file_see_each_others_disks(tmp_path: Path) -> None:
    """As the copy of a controller that waits for leadership: it was started long before."""
    file = tmp_path / "disks.json"
    leader, waiting = SimulatedCloud(file, zone_bytes=25), SimulatedCloud(file, zone_bytes=25)
    leader.create(a_disk("one"))
    waiting.create(a_disk("two"))
    assert waiting.create(a_disk("one", size=99)) == a_disk("one")
    assert leader.disks == waiting.disks == [a_disk("one"), a_disk("two")]
    assert leader.free_bytes("a") == 5
    leader.delete("two")
    assert SimulatedCloud(file).disks == [a_disk("one")]
