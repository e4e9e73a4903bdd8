import subprocess
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.protocol import DirectorySource
from plimsoll.processes.driver.node.mounting.choice import (
    clear_leftovers,
    missing_without_root,
    state_dir,
)
from plimsoll.processes.driver.node.mounting.linked_mounts import LinkedMounts
from plimsoll.processes.driver.node.mounting.no_mounts import NoMounts
from plimsoll.processes.driver.node.mounting.protocol import CannotShowError
from plimsoll.processes.driver.node.mounting.real_mounts import RealMounts
from plimsoll.processes.driver.settings import Mounts
from tests.processes.driver.node.ground import left_mounted, needs_root


@pytest.fixture
def volume(ground_dir: Path) -> Path:
    directory = ground_dir / "volume"
    directory.mkdir()
    (directory / "file").write_text("content")
    return directory


@needs_root
async def test_a_directory_is_seen_at_another_path(ground_dir: Path, volume: Path) -> None:
    mounts, target = RealMounts(ground_dir / "state"), ground_dir / "pod" / "data"
    await mounts.bind(volume, target)
    assert (target / "file").read_text() == "content"
    assert [shown.path for shown in mounts.places(DirectorySource(path=volume))] == [target]
    await mounts.unmount(target)
    assert mounts.find(target) is None
    assert list(target.iterdir()) == []


@needs_root
async def test_a_read_only_view_cannot_be_written_through(ground_dir: Path, volume: Path) -> None:
    mounts, target = RealMounts(ground_dir / "state"), ground_dir / "data"
    await mounts.bind(volume, target, read_only=True)
    with pytest.raises(OSError, match="Read-only"):
        (target / "other").write_text("")
    (volume / "other").write_text("the volume itself stays writable")
    assert left_mounted(ground_dir) == [str(target)]


@needs_root
async def test_options_of_a_view_hold_and_are_inherited(ground_dir: Path, volume: Path) -> None:
    mounts = RealMounts(ground_dir / "state")
    staged, target = ground_dir / "staged", ground_dir / "data"
    await mounts.bind(volume, staged, options=["noexec", "noatime"])
    await mounts.bind(staged, target, read_only=True)
    script = volume / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert not _can_run(target / "script")


def _can_run(script: Path) -> bool:
    try:
        return subprocess.run([script], check=False, timeout=10).returncode == 0
    except PermissionError:
        return False


@needs_root
async def test_mounts_over_each_other_are_all_taken_away(ground_dir: Path, volume: Path) -> None:
    mounts, target = RealMounts(ground_dir / "state"), ground_dir / "data"
    await mounts.bind(volume, target)
    await mounts.bind(volume, target)
    await mounts.unmount(target)
    assert left_mounted(ground_dir) == []


@needs_root
async def test_what_a_crash_left_in_private_is_cleared_away(ground_dir: Path, volume: Path) -> None:
    private = state_dir(ground_dir, "alpha") / "mounting" / "half-done"
    await RealMounts(ground_dir / "other").bind(volume, private)
    await clear_leftovers(ground_dir)
    assert left_mounted(ground_dir) == []
    assert not private.exists()
    assert (volume / "file").exists()


async def test_without_root_a_link_leads_to_the_volume(ground_dir: Path, volume: Path) -> None:
    mounts = LinkedMounts(ground_dir / "links")
    staged, target = ground_dir / "staged", ground_dir / "pod" / "data"
    staged.mkdir()
    await mounts.bind(volume, staged)
    await mounts.bind(staged, target)
    assert (target / "file").read_text() == "content"
    source = DirectorySource(path=volume)
    assert {shown.path for shown in mounts.places(source)} == {staged, target}
    await mounts.unmount(target)
    assert [shown.path for shown in mounts.places(source)] == [staged]


async def test_links_are_found_again_by_the_next_run(ground_dir: Path, volume: Path) -> None:
    await LinkedMounts(ground_dir / "links").bind(volume, ground_dir / "data")
    again = LinkedMounts(ground_dir / "links")
    assert again.find(ground_dir / "data") is not None
    assert len(again.places(DirectorySource(path=volume))) == 1


async def test_a_link_never_replaces_files_of_a_user(ground_dir: Path, volume: Path) -> None:
    target = ground_dir / "data"
    target.mkdir()
    (target / "precious").write_text("")
    with pytest.raises(OSError, match="not empty"):
        await LinkedMounts(ground_dir / "links").bind(volume, target)
    assert (target / "precious").exists()


async def test_links_say_what_they_cannot_do(ground_dir: Path, volume: Path) -> None:
    with pytest.raises(CannotShowError, match="need root"):
        await LinkedMounts(ground_dir / "links").bind(volume, ground_dir / "d", read_only=True)
    assert "need root" in missing_without_root(Mounts.LINKED)
    assert not missing_without_root(Mounts.REAL)


async def test_a_node_that_only_pretends_touches_no_disk(ground_dir: Path, volume: Path) -> None:
    mounts, target = NoMounts(), ground_dir / "data"
    await mounts.bind(volume, ground_dir / "staged")
    await mounts.bind(ground_dir / "staged", target, read_only=True)
    found = mounts.find(target)
    assert found is not None
    assert found.is_read_only
    assert len(mounts.places(DirectorySource(path=volume))) == 2
    await mounts.unmount(target)
    assert mounts.find(target) is None
    assert not target.exists()
    assert not (ground_dir / "staged").exists()
