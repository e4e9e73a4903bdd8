from datetime import UTC, datetime

import pytest

from plimsoll.processes.driver.backends.ceph.clusters.pool_names import (
    full_name,
    named_in_cluster,
    named_in_full,
    origin_in_cluster,
    split_name,
)
from plimsoll.processes.driver.records import (
    Part,
    RecordPhase,
    VolumeMode,
    VolumePlacement,
    VolumeRecord,
)

VOLUME = VolumeRecord(
    id="1",
    name="data",
    size_bytes=1,
    mode=VolumeMode.BLOCK,
    placement=VolumePlacement(pools=("rbd-a",), parts=(Part(extent="ec-a", bytes=1),)),
    phase=RecordPhase.READY,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(("cluster", "name"), [("", "rbd-a"), ("east", "east/rbd-a")])
def test_a_pool_of_the_first_cluster_is_called_as_it_is(cluster: str, name: str) -> None:
    assert full_name(cluster, "rbd-a") == name
    assert split_name(name) == (cluster, "rbd-a")


def test_a_record_names_pools_and_extents_in_full_outside_of_its_cluster() -> None:
    found = named_in_full(VOLUME, "east").placement
    assert (found.pools, found.parts[0].extent) == (("east/rbd-a",), "east/ec-a")
    assert named_in_cluster(named_in_full(VOLUME, "east")) == VOLUME
    assert origin_in_cluster(named_in_full(VOLUME, "east")) == VOLUME
    assert origin_in_cluster(None) is None
