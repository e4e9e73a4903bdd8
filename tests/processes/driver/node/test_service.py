"""The node service on directories: what holds for volumes of every kind."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.files.mountinfo import find_mount, read_mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import Method
from tests.deep_directories import make_deep
from tests.processes.driver.drivers import AccessMode, capability
from tests.processes.driver.node.ground import (
    DRIVER,
    MIB,
    NODE,
    Ground,
    a_local_driver,
    left_mounted,
    needs_root,
)

DIRECTORY = {"type": "directory"}
INVALID = "INVALID_ARGUMENT"
NOT_FOUND = "NOT_FOUND"
NOT_NOW = "FAILED_PRECONDITION"


@pytest.fixture
async def ground(ground_dir: Path) -> AsyncIterator[Ground]:
    async with a_local_driver(ground_dir) as found:
        yield found


async def directory(ground: Ground, name: str = "data") -> str:
    return await ground.create(name, mib=10, parameters=DIRECTORY)


async def test_a_node_says_who_it_is_and_where(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir, mounts=Mounts.NONE) as ground:
        info = await ground.call(m.NODE_GET_INFO, csi.NodeGetInfoRequest())
    assert info.node_id == NODE
    assert dict(info.accessible_topology.segments) == {f"topology.{DRIVER}/node": NODE}


REQUESTS: dict[str, tuple[Method[Any, Any], Message]] = {
    "stage-without-volume": (m.NODE_STAGE_VOLUME, csi.NodeStageVolumeRequest()),
    "stage-without-path": (m.NODE_STAGE_VOLUME, csi.NodeStageVolumeRequest(volume_id="x")),
    "stage-without-capability": (
        m.NODE_STAGE_VOLUME,
        csi.NodeStageVolumeRequest(volume_id="x", staging_target_path="/x"),
    ),
    "stage-at-a-relative-path": (
        m.NODE_STAGE_VOLUME,
        csi.NodeStageVolumeRequest(
            volume_id="x", staging_target_path="x", volume_capability=capability()
        ),
    ),
    "stage-at-the-root": (
        m.NODE_STAGE_VOLUME,
        csi.NodeStageVolumeRequest(
            volume_id="x", staging_target_path="/", volume_capability=capability()
        ),
    ),
    "publish-at-a-path-that-leads-up": (
        m.NODE_PUBLISH_VOLUME,
        csi.NodePublishVolumeRequest(
            volume_id="x", target_path="/x/../y", volume_capability=capability()
        ),
    ),
    "unstage-without-path": (m.NODE_UNSTAGE_VOLUME, csi.NodeUnstageVolumeRequest(volume_id="x")),
    "publish-without-volume": (m.NODE_PUBLISH_VOLUME, csi.NodePublishVolumeRequest()),
    "publish-without-path": (m.NODE_PUBLISH_VOLUME, csi.NodePublishVolumeRequest(volume_id="x")),
    "publish-without-capability": (
        m.NODE_PUBLISH_VOLUME,
        csi.NodePublishVolumeRequest(volume_id="x", target_path="/x"),
    ),
    "unpublish-without-path": (
        m.NODE_UNPUBLISH_VOLUME,
        csi.NodeUnpublishVolumeRequest(volume_id="x"),
    ),
    "stats-without-path": (
        m.NODE_GET_VOLUME_STATS,
        csi.NodeGetVolumeStatsRequest(volume_id="x"),
    ),
    "expand-without-path": (m.NODE_EXPAND_VOLUME, csi.NodeExpandVolumeRequest(volume_id="x")),
}


@pytest.mark.parametrize("case", REQUESTS)
async def test_a_request_that_lacks_something_is_refused(ground_dir: Path, case: str) -> None:
    method, request = REQUESTS[case]
    async with a_local_driver(ground_dir, mounts=Mounts.NONE) as ground:
        assert await ground.refused(method, request) == INVALID


async def test_unknown_volumes_cannot_be_used_but_left(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir, mounts=Mounts.NONE) as ground:
        stage = ground.stage_request("unknown")
        assert await ground.refused(m.NODE_STAGE_VOLUME, stage) == NOT_FOUND
        publish = ground.publish_request("unknown")
        assert await ground.refused(m.NODE_PUBLISH_VOLUME, publish) == NOT_FOUND
        await ground.leave("unknown")


@needs_root
async def test_what_one_pod_writes_the_next_one_reads(ground: Ground) -> None:
    volume = await directory(ground)
    target = await ground.use(volume)
    (target / "file").write_text("content")
    await ground.leave(volume)
    assert not target.exists()
    assert left_mounted(ground.directory) == []
    assert ((await ground.use(volume)) / "file").read_text() == "content"


@needs_root
async def test_every_call_can_be_repeated(ground: Ground) -> None:
    volume = await directory(ground)
    for _ in range(3):
        await ground.stage(volume)
    for _ in range(3):
        await ground.publish(volume)
    assert len(left_mounted(ground.directory)) == 2
    for _ in range(3):
        await ground.unpublish(volume)
    for _ in range(3):
        await ground.unstage(volume)
    assert left_mounted(ground.directory) == []


@needs_root
async def test_a_volume_is_published_only_after_it_was_staged(ground: Ground) -> None:
    volume = await directory(ground)
    request = ground.publish_request(volume)
    assert await ground.refused(m.NODE_PUBLISH_VOLUME, request) == NOT_NOW
    assert "call NodeStageVolume first" in ground.messages[-1]
    assert ground.record(volume).first_published_at is None


@needs_root
async def test_a_published_volume_is_not_published_otherwise_at_the_same_path(
    ground: Ground,
) -> None:
    volume = await directory(ground)
    await ground.use(volume)
    request = ground.publish_request(volume, read_only=True)
    assert await ground.refused(m.NODE_PUBLISH_VOLUME, request) == "ALREADY_EXISTS"


@needs_root
async def test_a_pod_may_get_a_read_only_view_of_a_writable_volume(ground: Ground) -> None:
    volume = await directory(ground)
    writable = await ground.use(volume)
    reading = await ground.publish(volume, "reader", read_only=True)
    (writable / "file").write_text("content")
    assert (reading / "file").read_text() == "content"
    with pytest.raises(OSError, match="Read-only"):
        (reading / "other").write_text("")


@needs_root
async def test_access_for_readers_is_read_only(ground: Ground) -> None:
    reader = AccessMode.SINGLE_NODE_READER_ONLY
    volume = await ground.create(mib=10, parameters=DIRECTORY, mode=reader)
    target = await ground.use(volume, mode=reader)
    with pytest.raises(OSError, match="Read-only"):
        (target / "file").write_text("")


@needs_root
async def test_a_volume_for_a_single_writer_has_one_target(ground: Ground) -> None:
    single = AccessMode.SINGLE_NODE_SINGLE_WRITER
    volume = await ground.create(mib=10, parameters=DIRECTORY, mode=single)
    await ground.use(volume, mode=single)
    other = ground.publish_request(volume, "other", mode=single)
    assert await ground.refused(m.NODE_PUBLISH_VOLUME, other) == NOT_NOW


@needs_root
async def test_a_volume_in_use_is_neither_deleted_nor_unstaged(ground: Ground) -> None:
    volume = await directory(ground)
    await ground.use(volume)
    delete = csi.DeleteVolumeRequest(volume_id=volume)
    assert await ground.refused(m.DELETE_VOLUME, delete) == NOT_NOW
    assert "mounted at" in ground.messages[-1]
    unstage = csi.NodeUnstageVolumeRequest(
        volume_id=volume, staging_target_path=str(ground.staging(volume))
    )
    assert await ground.refused(m.NODE_UNSTAGE_VOLUME, unstage) == NOT_NOW
    await ground.leave(volume)
    await ground.delete(volume)


@needs_root
async def test_the_first_publish_is_recorded_for_ever(ground: Ground) -> None:
    volume = await directory(ground)
    await ground.stage(volume)
    assert ground.record(volume).first_published_at is None
    await ground.publish(volume)
    first = ground.record(volume).first_published_at
    assert first is not None
    await ground.leave(volume)
    await ground.use(volume)
    assert ground.record(volume).first_published_at == first


@needs_root
async def test_a_publish_that_fails_counts_as_published(ground: Ground) -> None:
    volume = await directory(ground)
    await ground.stage(volume)
    request = ground.publish_request(volume)
    ground.target(volume).write_text("a directory cannot be mounted on a file")
    assert await ground.refused(m.NODE_PUBLISH_VOLUME, request) == "INTERNAL"
    assert ground.record(volume).first_published_at is not None


@needs_root
async def test_a_mount_of_another_program_is_never_touched(ground: Ground) -> None:
    mine, others = await directory(ground), await directory(ground, "other")
    await ground.stage(mine)
    await ground.use(others)
    request = ground.publish_request(mine)
    request.target_path = str(ground.target(others))
    assert await ground.refused(m.NODE_PUBLISH_VOLUME, request) == NOT_NOW
    unpublish = csi.NodeUnpublishVolumeRequest(volume_id=mine, target_path=request.target_path)
    assert await ground.refused(m.NODE_UNPUBLISH_VOLUME, unpublish) == NOT_NOW
    assert str(ground.target(others)) in left_mounted(ground.directory)


@needs_root
async def test_a_file_where_nothing_was_published_is_never_removed(ground: Ground) -> None:
    volume = await directory(ground)
    await ground.stage(volume)
    target = ground.target(volume)
    target.parent.mkdir(parents=True)
    target.write_text("precious")
    unpublish = csi.NodeUnpublishVolumeRequest(volume_id=volume, target_path=str(target))
    assert await ground.refused(m.NODE_UNPUBLISH_VOLUME, unpublish) == NOT_NOW
    assert target.read_text() == "precious"


@needs_root
async def test_nothing_is_mounted_where_a_link_leads(ground: Ground) -> None:
    """The driver would look for its mount at the link, and the kernel has it elsewhere."""
    volume = await directory(ground)
    elsewhere = ground.directory / "elsewhere"
    elsewhere.mkdir()
    ground.staging(volume).parent.mkdir(parents=True)
    ground.staging(volume).symlink_to(elsewhere)
    assert await ground.refused(m.NODE_STAGE_VOLUME, ground.stage_request(volume)) == NOT_NOW
    ground.staging(volume).unlink()
    await ground.stage(volume)
    request = ground.publish_request(volume)
    ground.target(volume).symlink_to(elsewhere)
    assert await ground.refused(m.NODE_PUBLISH_VOLUME, request) == NOT_NOW
    assert str(elsewhere) not in left_mounted(ground.directory)


@needs_root
async def test_nothing_is_mounted_over_files(ground: Ground) -> None:
    volume = await directory(ground)
    ground.staging(volume).mkdir(parents=True)
    (ground.staging(volume) / "file").write_text("precious")
    assert await ground.refused(m.NODE_STAGE_VOLUME, ground.stage_request(volume)) == NOT_NOW
    (ground.staging(volume) / "file").unlink()
    await ground.use(volume)


@needs_root
async def test_mount_flags_of_the_claim_hold_for_the_pod(ground: Ground) -> None:
    volume = await directory(ground)
    await ground.stage(volume, flags=["noexec"])
    target = await ground.publish(volume)
    found = find_mount(read_mounts(), target)
    assert found is not None
    assert "noexec" in found.options


@needs_root
async def test_stats_of_a_directory_count_what_lies_in_it(ground: Ground) -> None:
    volume = await directory(ground)
    target = await ground.use(volume)
    (target / "file").write_bytes(b"x" * MIB)
    answer = await ground.stats(volume, target)
    space = next(item for item in answer.usage if item.unit == csi.VolumeUsage.BYTES)
    assert space.total == 10 * MIB
    assert MIB <= space.used < 2 * MIB
    assert space.available == space.total - space.used
    files = next(item for item in answer.usage if item.unit == csi.VolumeUsage.INODES)
    assert files.used == 2
    assert not answer.volume_condition.abnormal


@needs_root
async def test_stats_are_about_a_path_of_the_volume(ground: Ground) -> None:
    volume = await directory(ground)
    await ground.use(volume)
    request = csi.NodeGetVolumeStatsRequest(volume_id=volume, volume_path="some/path")
    assert await ground.refused(m.NODE_GET_VOLUME_STATS, request) == NOT_FOUND


@needs_root
async def test_a_directory_that_is_gone_is_told(ground: Ground) -> None:
    volume = await directory(ground)
    (ground.directory / "disk-0" / "volumes" / volume).rmdir()
    request = csi.ControllerGetVolumeRequest(volume_id=volume)
    answer = await ground.call(m.CONTROLLER_GET_VOLUME, request)
    assert answer.status.volume_condition.abnormal
    assert await ground.refused(m.NODE_STAGE_VOLUME, ground.stage_request(volume)) == ("INTERNAL")


@needs_root
async def test_a_node_expands_no_further_than_the_controller_did(ground: Ground) -> None:
    volume = await directory(ground)
    target = await ground.use(volume)
    wanted = csi.CapacityRange(required_bytes=20 * MIB)
    request = csi.NodeExpandVolumeRequest(
        volume_id=volume, volume_path=str(target), capacity_range=wanted
    )
    assert await ground.refused(m.NODE_EXPAND_VOLUME, request) == "OUT_OF_RANGE"
    await ground.expand(volume, 20)
    assert await ground.node_expand(volume) == 20 * MIB
    assert (await ground.stats(volume, target)).usage[0].total == 20 * MIB


async def test_without_root_directories_work_and_the_rest_says_what_it_needs(
    ground_dir: Path,
) -> None:
    async with a_local_driver(ground_dir, mounts=Mounts.LINKED) as ground:
        volume = await ground.create(mib=10)
        target = await ground.use(volume)
        (target / "file").write_text("content")
        await ground.leave(volume)
        assert ((await ground.use(volume)) / "file").read_text() == "content"
        for wanted in ({"type": "image"}, {"medium": "memory"}):
            assert await ground.cannot_create("other", mib=10, parameters=wanted) == INVALID
            assert "needs root" in ground.messages[-1]
        assert await ground.cannot_create("other", mib=10, block=True) == INVALID
        await ground.leave(volume)
        await ground.delete(volume)
    async with a_local_driver(ground_dir, mounts=Mounts.LINKED):
        assert list((ground_dir / "disk-0" / "volumes").iterdir()) == []


async def test_links_survive_a_restart(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir, mounts=Mounts.LINKED) as ground:
        volume = await ground.create(mib=10)
        await ground.use(volume)
    async with a_local_driver(ground_dir, mounts=Mounts.LINKED) as ground:
        delete = csi.DeleteVolumeRequest(volume_id=volume)
        assert await ground.refused(m.DELETE_VOLUME, delete) == NOT_NOW
        await ground.leave(volume)
        await ground.delete(volume)


@needs_root
async def test_a_volume_goes_however_deep_a_pod_has_made_its_directories(ground: Ground) -> None:
    volume = await directory(ground)
    make_deep(await ground.use(volume), levels=1500)
    await ground.leave(volume)
    await ground.delete(volume)
    assert not list(ground.directory.glob(f"disk-*/volumes/{volume}*"))
