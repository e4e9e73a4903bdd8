"""The node service on lvm: what works depends on the kernel, and the driver says so."""

from pathlib import Path

import pytest

from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import (
    NODE_GET_CAPABILITIES,
    NODE_GET_INFO,
    NODE_PUBLISH_VOLUME,
    NODE_STAGE_VOLUME,
    NODE_UNPUBLISH_VOLUME,
    NODE_UNSTAGE_VOLUME,
)
from tests.processes.driver.backends.lvm.callers import BLOCK, Caller, a_driver
from tests.processes.driver.backends.lvm.disks import (
    EXTENT,
    NODE,
    needs_device_mapper,
    needs_lvm,
    volume_group,
    without_device_mapper,
)

pytestmark = needs_lvm


async def stage(caller: Caller, volume_id: str, path: Path) -> None:
    request = csi.NodeStageVolumeRequest(
        volume_id=volume_id, staging_target_path=str(path), volume_capability=BLOCK
    )
    await caller.client.call(NODE_STAGE_VOLUME, request)


async def publish(caller: Caller, volume_id: str, path: Path, *, staged_at: str = "") -> None:
    request = csi.NodePublishVolumeRequest(
        volume_id=volume_id,
        target_path=str(path),
        staging_target_path=staged_at,
        volume_capability=BLOCK,
    )
    await caller.client.call(NODE_PUBLISH_VOLUME, request)


@without_device_mapper
async def test_without_device_mapper_the_node_offers_nothing_and_says_why(tmp_path: Path) -> None:
    with volume_group(tmp_path, [8]) as (_, settings):
        async with a_driver(settings) as caller:
            offered = await caller.client.call(
                NODE_GET_CAPABILITIES, csi.NodeGetCapabilitiesRequest()
            )
            assert not offered.capabilities
            info = await caller.client.call(NODE_GET_INFO, csi.NodeGetInfoRequest())
            assert info.node_id == NODE
            volume = await caller.create({}, EXTENT)
            for attempt in (
                stage(caller, volume.volume_id, tmp_path / "stage"),
                publish(caller, volume.volume_id, tmp_path / "target"),
            ):
                with pytest.raises(DriverError, match="device-mapper is not usable") as refused:
                    await attempt
                assert refused.value.failure is DriverFailure.WRONG_STATE


@needs_device_mapper
async def test_a_block_volume_is_staged_published_and_given_back(tmp_path: Path) -> None:
    with volume_group(tmp_path, [8]) as (_, settings):
        async with a_driver(settings) as caller:
            volume_id = (await caller.create({}, EXTENT)).volume_id
            staged, target = tmp_path / "stage", tmp_path / "target"
            staged.mkdir()
            await stage(caller, volume_id, staged)
            await publish(caller, volume_id, target, staged_at=str(staged))
            assert target.is_block_device()
            with pytest.raises(DriverError) as refused:
                await caller.delete(volume_id)
            assert refused.value.failure is DriverFailure.WRONG_STATE
            unpublish = csi.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=str(target))
            await caller.client.call(NODE_UNPUBLISH_VOLUME, unpublish)
            unstage = csi.NodeUnstageVolumeRequest(
                volume_id=volume_id, staging_target_path=str(staged)
            )
            await caller.client.call(NODE_UNSTAGE_VOLUME, unstage)
            await caller.delete(volume_id)
