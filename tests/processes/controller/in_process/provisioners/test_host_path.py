from pathlib import Path

import msgspec
import pytest

from plimsoll.api.volumes import PathOnNode, PersistentVolume, VolumeSpec
from plimsoll.processes.controller.in_process.provisioners.host_path import HostPath, make
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    ProvisionerEnvironment,
    ProvisionerError,
    Trouble,
)
from tests.builders import a_claim, a_node, meta
from tests.deep_directories import make_deep
from tests.processes.controller.in_process.provisioners.at_once import a_request, at_once


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "volumes"


@pytest.fixture
def provisioner(root: Path) -> HostPath:
    return HostPath(root, at_once)


def a_volume_at(path: Path | str) -> PersistentVolume:
    return PersistentVolume(
        metadata=meta("volume"), spec=VolumeSpec(host_path=PathOnNode(path=str(path)))
    )


def deleting(path: Path | str) -> DeleteRequest:
    return DeleteRequest(volume_name="volume", volume=a_volume_at(path))


def content(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_a_directory_is_made_once_however_often_it_is_asked_for(
    provisioner: HostPath, root: Path
) -> None:
    first = await provisioner.provision(a_request())
    (root / "pvc-1" / "data").write_text("precious")
    second = await provisioner.provision(a_request())
    assert first == second
    assert first.source == {"hostPath": {"path": str(root / "pvc-1"), "type": "Directory"}}
    assert content(root / "pvc-1") == ["data"]


async def test_it_can_be_reached_from_the_selected_node_only(provisioner: HostPath) -> None:
    made = await provisioner.provision(a_request(node=a_node("node-7")))
    assert made.reachable_from == {"kubernetes.io/hostname": ("node-7",)}
    assert (await provisioner.provision(a_request())).reachable_from == {}


async def test_what_was_deleted_may_be_deleted_again(provisioner: HostPath, root: Path) -> None:
    await provisioner.provision(a_request())
    (root / "pvc-1" / "below").mkdir()
    (root / "pvc-1" / "below" / "data").write_text("precious")
    for _ in range(2):
        await provisioner.delete(deleting(root / "pvc-1"))
        assert content(root) == []


async def test_a_deletion_that_was_cut_short_is_finished_later(
    provisioner: HostPath, root: Path
) -> None:
    await provisioner.provision(a_request())
    (root / ".deleting-pvc-1").mkdir()
    (root / ".deleting-pvc-1" / "data").write_text("precious")
    await provisioner.delete(DeleteRequest(volume_name="pvc-1", volume=None))
    assert content(root) == []


async def test_directories_may_be_deeper_than_python_recurses(
    provisioner: HostPath, root: Path
) -> None:
    await provisioner.provision(a_request())
    make_deep(root / "pvc-1", levels=1500)
    await provisioner.recycle(a_volume_at(root / "pvc-1"))
    assert content(root / "pvc-1") == []
    make_deep(root / "pvc-1", levels=1500)
    await provisioner.delete(deleting(root / "pvc-1"))
    assert content(root) == []


async def test_a_link_in_a_volume_is_removed_and_not_followed(
    provisioner: HostPath, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data").write_text("precious")
    for work in (provisioner.recycle, lambda volume: provisioner.delete(deleting(path_of(volume)))):
        await provisioner.provision(a_request())
        (root / "pvc-1" / "link").symlink_to(outside)
        await work(a_volume_at(root / "pvc-1"))
        assert content(outside) == ["data"]
    assert content(root) == []


def path_of(volume: PersistentVolume) -> str:
    assert volume.spec.host_path is not None
    return volume.spec.host_path.path


async def test_a_link_in_place_of_a_volume_is_refused(
    provisioner: HostPath, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data").write_text("precious")
    await provisioner.provision(a_request())
    (root / "pvc-1").rmdir()
    (root / "pvc-1").symlink_to(outside)
    for work in (
        provisioner.provision(a_request()),
        provisioner.delete(deleting(root / "pvc-1")),
        provisioner.recycle(a_volume_at(root / "pvc-1")),
    ):
        with pytest.raises(ProvisionerError):
            await work
    assert content(outside) == ["data"]


@pytest.mark.parametrize(
    "path", ["/etc", "{root}", "{root}/..", "{root}/a/b", "{root}/.hidden", ""]
)
async def test_paths_outside_the_root_are_never_touched(
    provisioner: HostPath, root: Path, path: str
) -> None:
    volume = a_volume_at(path.format(root=root))
    assert not provisioner.knows(volume)
    with pytest.raises(ProvisionerError) as refusal:
        await provisioner.delete(DeleteRequest(volume_name="volume", volume=volume))
    assert refusal.value.trouble is Trouble.REFUSED


async def test_a_recycled_volume_is_empty(provisioner: HostPath, root: Path) -> None:
    await provisioner.provision(a_request())
    (root / "pvc-1" / "file").write_text("precious")
    (root / "pvc-1" / "directory").mkdir()
    (root / "pvc-1" / "directory" / "file").write_text("precious")
    volume = a_volume_at(root / "pvc-1")
    assert provisioner.knows(volume)
    await provisioner.recycle(volume)
    assert content(root / "pvc-1") == []


async def test_it_says_how_much_the_disk_has_left(provisioner: HostPath) -> None:
    free = await provisioner.free_bytes(a_request().storage_class, None)
    assert free is not None
    assert free >= 0


def test_the_root_is_an_option_and_has_to_be_absolute(tmp_path: Path) -> None:
    environment = ProvisionerEnvironment(
        directory=tmp_path, blocking=at_once, options={"root": str(tmp_path / "a" / ".." / "b")}
    )
    assert make(environment).knows(a_volume_at(tmp_path / "b" / "volume"))
    with pytest.raises(ValueError, match="absolute"):
        make(ProvisionerEnvironment(directory=tmp_path, blocking=at_once, options={"root": "here"}))
    with pytest.raises(ValueError, match="unknown options colour; known: root"):
        make(
            ProvisionerEnvironment(directory=tmp_path, blocking=at_once, options={"colour": "red"})
        )


def test_a_directory_is_no_block_device(provisioner: HostPath) -> None:
    spec = msgspec.structs.replace(a_claim().spec, volume_mode="Block")
    claim = msgspec.structs.replace(a_claim(), spec=spec)
    storage_class = a_request().storage_class
    assert "does not support block" in provisioner.objection(claim, storage_class)
    assert provisioner.objection(a_claim(), storage_class) == ""
