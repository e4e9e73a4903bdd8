from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll.processes.driver.backends.lvm.backend import LvmBackend, make
from plimsoll.processes.driver.backends.lvm.group import told
from plimsoll.processes.driver.backends.protocol import Charges
from plimsoll.processes.driver.settings import BackendSettings, Disk, NodeSettings, SetupError
from plimsoll.runtime.commands import CommandError
from tests.processes.driver.backends.lvm.disks import (
    DRIVER,
    EXTENT,
    Group,
    loop_devices,
    lvm_of,
    needs_lvm,
    settings,
    volume_group,
)

GROUP = "plimsoll-test-opening"


async def opened(settings: BackendSettings) -> LvmBackend:
    backend = make(settings)
    await backend.settle([], [])
    return backend


def set_up(directory: Path, *nodes: str, **options: Any) -> BackendSettings:
    return BackendSettings(
        driver_name=DRIVER,
        data_dir=directory,
        nodes=tuple(NodeSettings(id=node) for node in nodes),
        options=options,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "name one with --volume-group"),
        ({"volumeGroup": "data", "thin": True}, "thin"),
        ({"volumeGroup": "-rf"}, "no name of a volume group"),
    ],
    ids=str,
)
async def test_options_that_cannot_work_are_refused(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(SetupError, match=words):
        await opened(set_up(tmp_path, "alpha", **options))


async def test_the_disks_of_other_nodes_are_not_here(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="one node, not 2"):
        await opened(set_up(tmp_path, "alpha", "beta", volumeGroup="data"))


async def test_a_part_of_a_disk_cannot_be_given(tmp_path: Path) -> None:
    part = Disk(path=Path("/dev/sdx"), size_bytes=EXTENT)
    asked = set_up(tmp_path, volumeGroup="data")
    with pytest.raises(SetupError, match="whole disks"):
        await opened(replace(asked, nodes=(NodeSettings(id="alpha", disks=(part,)),)))


def test_what_lvm2_warns_of_is_not_told_as_the_reason() -> None:
    stderr = """
      File descriptor 251 (pipe:[315146]) leaked on lvm invocation. Parent PID 6647: python
      WARNING: Couldn't find device with uuid x.
      Volume group "data" not found
    """
    error = CommandError("lvm", code=5, stderr=stderr)
    assert told(error) == 'Volume group "data" not found'


@needs_lvm
async def test_a_group_that_is_not_there_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with (
        loop_devices(tmp_path, [8 * EXTENT]) as devices,
        pytest.raises(SetupError, match=r"not found.*vgcreate"),
    ):
        await opened(settings(tmp_path, GROUP, devices))


@needs_lvm
async def test_a_group_is_made_when_asked_and_found_the_next_time(tmp_path: Path) -> None:
    with loop_devices(tmp_path, [9 * EXTENT, 9 * EXTENT]) as devices:
        asked = settings(tmp_path, GROUP, devices, create=True, extentBytes=EXTENT)
        try:
            await opened(asked)
            backend = await opened(asked)
            (pool,) = await backend.pools(Charges(promised={}, unmade={}))
            assert [extent.free_bytes // EXTENT for extent in pool.extents] == [8, 8]
        finally:
            Group(lvm_of(tmp_path, GROUP, devices)).run("vgremove", "--yes", GROUP)


@needs_lvm
async def test_a_disk_with_a_file_system_is_not_made_part_of_a_group(tmp_path: Path) -> None:
    with volume_group(tmp_path, [4]) as (group, _):
        devices = [Path(disk) for disk in group.lvm.disks]
        with pytest.raises(SetupError, match="cannot be made"):
            await opened(settings(tmp_path, GROUP, devices, create=True))
        assert group.names() == set()


@needs_lvm
async def test_other_groups_of_the_machine_are_not_seen(tmp_path: Path) -> None:
    with volume_group(tmp_path, [4]) as (group, _):
        (tmp_path / "more").mkdir()
        with (
            loop_devices(tmp_path / "more", [8 * EXTENT]) as devices,
            pytest.raises(SetupError, match="not found"),
        ):
            await opened(settings(tmp_path, group.lvm.group, devices))
