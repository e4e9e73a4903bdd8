"""What a node asks of a driver for one volume."""

import os
from datetime import timedelta
from pathlib import Path

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import Running, capability

TIME_LIMIT = timedelta(minutes=2)
"""That of kubelet: to make a file system on a busy machine takes long."""


async def stage(
    driver: Running, volume_id: str, place: Path, *, block: bool = False, fs_type: str = ""
) -> None:
    os.makedirs(place, exist_ok=True)  # noqa: PTH103 - the loop waits for nothing else here
    request = csi.NodeStageVolumeRequest(
        volume_id=volume_id,
        staging_target_path=str(place),
        volume_capability=capability(block=block, fs_type=fs_type),
    )
    await driver.client.call(m.NODE_STAGE_VOLUME, request, within=TIME_LIMIT)


async def publish(
    driver: Running, volume_id: str, staged: Path, target: Path, *, block: bool = False
) -> None:
    request = csi.NodePublishVolumeRequest(
        volume_id=volume_id,
        staging_target_path=str(staged),
        target_path=str(target),
        volume_capability=capability(block=block),
    )
    await driver.call(m.NODE_PUBLISH_VOLUME, request)


async def take_back(driver: Running, volume_id: str, staged: Path, target: Path) -> None:
    unpublish = csi.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=str(target))
    await driver.call(m.NODE_UNPUBLISH_VOLUME, unpublish)
    unstage = csi.NodeUnstageVolumeRequest(volume_id=volume_id, staging_target_path=str(staged))
    await driver.call(m.NODE_UNSTAGE_VOLUME, unstage)
