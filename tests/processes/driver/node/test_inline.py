from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import capability
from tests.processes.driver.node.ground import (
    MIB,
    Ground,
    a_local_driver,
    left_mounted,
    needs_root,
)

EPHEMERAL = {"csi.storage.k8s.io/ephemeral": "true", "csi.storage.k8s.io/pod.name": "web-0"}
HANDLE = "csi-" + "0" * 64

pytestmark = needs_root


@pytest.fixture
async def ground(ground_dir: Path) -> AsyncIterator[Ground]:
    async with a_local_driver(ground_dir, memory_bytes=64 * MIB) as found:
        yield found


def request(ground: Ground, attributes: Mapping[str, str]) -> csi.NodePublishVolumeRequest:
    return csi.NodePublishVolumeRequest(
        volume_id=HANDLE,
        target_path=str(ground.target(HANDLE)),
        volume_capability=capability(),
        volume_context={**EPHEMERAL, **attributes},
    )


def volumes(ground: Ground) -> list[int]:
    return [volume.size_bytes for volume in ground.driver.ledger.volumes.all()]


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"type": "directory"}, id="directory"),
        pytest.param({"type": "image"}, id="image"),
        pytest.param({"medium": "memory"}, id="memory"),
    ],
)
async def test_it_lives_as_long_as_its_pod(ground: Ground, attributes: dict[str, str]) -> None:
    for _ in range(2):
        await ground.call(m.NODE_PUBLISH_VOLUME, request(ground, {"size": "16Mi", **attributes}))
    assert volumes(ground) == [16 * MIB]
    (ground.target(HANDLE) / "file").write_text("content")
    stats = await ground.stats(HANDLE, ground.target(HANDLE))
    assert stats.usage
    for _ in range(2):
        await ground.unpublish(HANDLE)
    assert volumes(ground) == []
    assert left_mounted(ground.directory) == []
    await ground.until_detached()
    assert list((ground.directory / "disk-0" / "volumes").iterdir()) == []


async def test_no_room_is_no_room_for_it_either(ground: Ground) -> None:
    too_large = request(ground, {"size": "1Ti"})
    refused = await ground.refused(m.NODE_PUBLISH_VOLUME, too_large)
    assert refused == "RESOURCE_EXHAUSTED"
    assert volumes(ground) == []


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"size": "many"}, id="no-size"),
        pytest.param({"colour": "red"}, id="unknown-attribute"),
    ],
)
async def test_attributes_that_mean_nothing_are_refused(
    ground: Ground, attributes: dict[str, str]
) -> None:
    refused = await ground.refused(m.NODE_PUBLISH_VOLUME, request(ground, attributes))
    assert refused == "INVALID_ARGUMENT"


async def test_a_restart_in_the_middle_loses_track_of_nothing(ground_dir: Path) -> None:
    async with a_local_driver(ground_dir) as ground:
        await ground.call(m.NODE_PUBLISH_VOLUME, request(ground, {"size": "16Mi"}))
    async with a_local_driver(ground_dir) as ground:
        await ground.unpublish(HANDLE)
        assert volumes(ground) == []
        assert left_mounted(ground_dir) == []


async def test_the_volume_of_a_claim_is_none_whatever_its_name(ground: Ground) -> None:
    volume_id = await ground.create("inline-of-a-claim")
    await ground.stage(volume_id)
    (await ground.publish(volume_id) / "file").write_text("content")
    await ground.leave(volume_id)
    await ground.stage(volume_id)
    assert (await ground.publish(volume_id) / "file").read_text() == "content"
    await ground.leave(volume_id)
    await ground.delete(volume_id)
