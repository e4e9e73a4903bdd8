"""Nodes that go: only those on which the drivers have nothing."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.records import (
    Attachment,
    RecordPhase,
    SnapshotRecord,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.runtime.config import ConfigError
from plimsoll.ui.local_cluster.layout import ClusterOptions, driver_dir
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from plimsoll.ui.local_cluster.removed_nodes import refuse_occupied, removed

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def placed(driver: str, **segment: str) -> VolumePlacement:
    topology = {f"topology.{driver}/{key}": value for key, value in segment.items()}
    return VolumePlacement(pools=("p",), parts=(), topology=(topology,))


def volume(placement: VolumePlacement, *attached_to: str) -> VolumeRecord:
    return VolumeRecord(
        id="v1",
        name="pvc-1",
        size_bytes=1,
        mode=VolumeMode.FILESYSTEM,
        placement=placement,
        phase=RecordPhase.READY,
        created_at=NOW,
        attachments=tuple(Attachment(node_id=node) for node in attached_to),
    )


def snapshot(placement: VolumePlacement) -> SnapshotRecord:
    return SnapshotRecord(
        id="s1",
        name="snapshot-1",
        volume_id="v1",
        size_bytes=1,
        mode=VolumeMode.FILESYSTEM,
        placement=placement,
        phase=RecordPhase.READY,
        created_at=NOW,
    )


def record(wanted: ClusterOptions, driver: str, entry: VolumeRecord | SnapshotRecord) -> None:
    with closing(Ledger(driver_dir(wanted, driver))) as ledger:
        if isinstance(entry, VolumeRecord):
            ledger.volumes.put(entry)
        else:
            ledger.snapshots.put(entry)


def test_the_nodes_beyond_the_wanted_number_are_removed(tmp_path: Path) -> None:
    before, wanted = (
        ClusterOptions(data_dir=tmp_path, nodes=4),
        ClusterOptions(data_dir=tmp_path, nodes=2),
    )
    assert removed(before, wanted) == ("node-2", "node-3")
    assert removed(wanted, before) == ()


@pytest.mark.parametrize(
    ("driver", "entry", "named"),
    [
        (LOCAL, volume(placed(LOCAL, node="node-2")), "volume pvc-1"),
        (LOCAL, snapshot(placed(LOCAL, node="node-2")), "snapshot snapshot-1"),
        (POOLS, volume(placed(POOLS, zone="a"), "node-2"), "volume pvc-1"),
    ],
    ids=["a volume on its disk", "a snapshot on its disk", "a volume attached to it"],
)
def test_a_node_with_data_stays(
    tmp_path: Path, driver: str, entry: VolumeRecord | SnapshotRecord, named: str
) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, nodes=2)
    record(wanted, driver, entry)
    with pytest.raises(ConfigError, match=rf"node-2 away, which has {named}; start with --nodes 3"):
        refuse_occupied(wanted, ("node-2",), before=3)


def test_a_node_without_data_can_go(tmp_path: Path) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, nodes=2)
    record(wanted, LOCAL, volume(placed(LOCAL, node="node-0")))
    refuse_occupied(wanted, ("node-2",), before=3)
