"""A driver for directories dies at every step of staging and publishing on its node."""

import os
from collections.abc import AsyncIterator

import pytest

from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.files.dying_nodes import (
    AT_EVERY_STEP,
    NodeScene,
    Part,
    goes_on_after_a_death_anywhere,
    node_scene,
)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(900),
]


@pytest.fixture
async def scene(
    filesystem: ClusterFilesystem, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[NodeScene]:
    async with node_scene("cephfs", filesystem, monkeypatch) as made:
        yield made


@AT_EVERY_STEP
async def test_the_next_driver_goes_on_and_what_was_written_is_there(
    scene: NodeScene, prepare: Part, call: Part
) -> None:
    await goes_on_after_a_death_anywhere(scene, prepare, call)
