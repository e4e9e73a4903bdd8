from plimsoll.api.pods import Pod, PodSpec, PodVolume
from plimsoll.api.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    VolumeLimit,
)
from plimsoll.api.volumes import GcePersistentDisk
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.rules.node_volume_limits_columns import Limits, disk_conflicts
from tests.builders import DRIVER, a_claim, a_csi_node, a_node, a_pod, a_volume, meta

BOUND = [a_claim("c", volume="v"), a_volume("v"), a_claim("d", volume="w"), a_volume("w")]
POD = a_pod("new", claims=["c", "d"])


def test_a_driver_that_must_be_there_keeps_pods_away_where_it_is_not() -> None:
    spec = CSIDriverSpec(prevent_pod_scheduling_if_missing=True)
    strict = CSIDriver(metadata=meta(DRIVER), spec=spec)
    columns = Columns.of([a_node("a"), a_node("b"), a_node("c"), a_csi_node("a"), *BOUND, strict])
    columns.put(CSINode(metadata=meta("b")))

    limits = Limits(POD, columns)

    assert limits.missing_drivers() == [(DRIVER, 0b110)]
    flags = limits.blocked()
    assert flags is not None
    assert flags[:3].tolist() == [0, Blocked.LIMIT_DRIVER, Blocked.LIMIT_DRIVER]


def test_a_node_with_too_few_slots_is_full() -> None:
    driver = CSINodeDriver(name=DRIVER, allocatable=VolumeLimit(count=1))
    csi_node = CSINode(metadata=meta("a"), spec=CSINodeSpec(drivers=(driver,)))
    columns = Columns.of([a_node("a"), a_node("b"), csi_node, *BOUND])

    flags = Limits(POD, columns).blocked()

    assert flags is not None
    assert flags[:2].tolist() == [Blocked.LIMIT_REACHED, 0]
    assert Limits(a_pod("small", claims=["c"]), columns).blocked() is None


def test_a_disk_is_in_conflict_only_where_another_pod_mounts_it() -> None:
    def with_disk(name: str, node: str, *, read_only: bool) -> Pod:
        disk = GcePersistentDisk(pd_name="d", read_only=read_only)
        volumes = (PodVolume(name="disk", gce_persistent_disk=disk),)
        return Pod(metadata=meta(name, "default"), spec=PodSpec(node_name=node, volumes=volumes))

    columns = Columns.of([a_node("a"), a_node("b"), with_disk("p", "b", read_only=True)])

    assert disk_conflicts(with_disk("new", "", read_only=False), columns) == 0b10
    assert disk_conflicts(with_disk("new", "", read_only=True), columns) == 0
