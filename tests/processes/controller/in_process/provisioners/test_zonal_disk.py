from pathlib import Path

import pytest

from plimsoll.api.volumes import CsiSource, PersistentVolume, VolumeSpec
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    ProvisionerEnvironment,
    ProvisionerError,
    Trouble,
)
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import SimulatedCloud
from plimsoll.processes.controller.in_process.provisioners.zonal_disk import ZonalDisk, make
from plimsoll.processes.controller.in_process.provisioners.zones import REGION, ZONE
from tests.builders import a_claim, a_node, meta
from tests.processes.controller.in_process.provisioners.at_once import (
    a_class_with,
    a_request,
    a_zonal_node,
    at_once,
)

NODES = tuple(a_zonal_node(f"europe-{zone}") for zone in "abc")
REPLICATED = {"replication": "two-zones"}


@pytest.fixture
def cloud() -> SimulatedCloud:
    return SimulatedCloud(zone_bytes=10 << 30)


@pytest.fixture
def provisioner(cloud: SimulatedCloud) -> ZonalDisk:
    return ZonalDisk(cloud, at_once)


async def test_a_disk_is_described_by_zone_and_region(
    provisioner: ZonalDisk, cloud: SimulatedCloud
) -> None:
    made = await provisioner.provision(a_request(node=NODES[1], nodes=NODES))
    [disk] = cloud.disks
    assert (disk.name, disk.zones, disk.size_bytes) == ("pvc-1", ("europe-b",), 1 << 30)
    assert made.reachable_from == {ZONE: ("europe-b",), REGION: ("europe",)}
    assert made.labels == {ZONE: "europe-b", REGION: "europe"}
    assert made.capacity_bytes == 1 << 30


async def test_where_nodes_name_no_region_a_disk_asks_for_none(provisioner: ZonalDisk) -> None:
    node = a_node("node-1", labels={ZONE: "europe-a"})
    made = await provisioner.provision(a_request(node=node, nodes=(node,)))
    assert made.reachable_from == {ZONE: ("europe-a",)}
    assert made.labels == {ZONE: "europe-a"}


async def test_a_replicated_disk_has_both_zones_in_its_label(provisioner: ZonalDisk) -> None:
    request = a_request(a_class_with(REPLICATED), node=NODES[2], nodes=NODES[1:])
    made = await provisioner.provision(request)
    assert made.labels[ZONE] == "europe-b__europe-c"
    assert made.reachable_from[ZONE] == ("europe-b", "europe-c")


async def test_asked_again_it_describes_the_same_disk(
    provisioner: ZonalDisk, cloud: SimulatedCloud
) -> None:
    request = a_request(node=NODES[0], nodes=NODES)
    assert await provisioner.provision(request) == await provisioner.provision(request)
    assert len(cloud.disks) == 1


async def test_a_disk_from_an_attempt_for_another_node_is_replaced(
    provisioner: ZonalDisk, cloud: SimulatedCloud
) -> None:
    await provisioner.provision(a_request(node=NODES[0], nodes=NODES))
    made = await provisioner.provision(a_request(node=NODES[1], nodes=NODES))
    assert made.labels[ZONE] == "europe-b"
    assert [disk.zones for disk in cloud.disks] == [("europe-b",)]


async def test_a_full_zone_is_the_wrong_node_and_nothing_is_made(cloud: SimulatedCloud) -> None:
    full = ZonalDisk(SimulatedCloud(zone_bytes=1), at_once)
    with pytest.raises(ProvisionerError, match="zone europe-a has 1 bytes left") as refusal:
        await full.provision(a_request(node=NODES[0], nodes=NODES))
    assert refusal.value.trouble is Trouble.WRONG_NODE
    assert cloud.disks == []


async def test_a_disk_is_deleted_by_its_handle_or_by_its_name(
    provisioner: ZonalDisk, cloud: SimulatedCloud
) -> None:
    source = CsiSource(driver="zonal-disk.plimsoll.dev", volume_handle="pvc-1")
    volume = PersistentVolume(metadata=meta("renamed"), spec=VolumeSpec(csi=source))
    for request in (
        DeleteRequest(volume_name="renamed", volume=volume),
        DeleteRequest(volume_name="pvc-1", volume=None),
    ):
        await provisioner.provision(a_request(nodes=NODES))
        await provisioner.delete(request)
        assert cloud.disks == []


async def test_it_says_how_much_a_zone_has_left(provisioner: ZonalDisk) -> None:
    await provisioner.provision(a_request(node=NODES[0], nodes=NODES))
    assert await provisioner.free_bytes(a_class_with(), NODES[0]) == 9 << 30
    assert await provisioner.free_bytes(a_class_with(), NODES[1]) == 10 << 30
    assert await provisioner.free_bytes(a_class_with(), None) is None


@pytest.mark.parametrize(
    ("parameters", "zones", "why"),
    [
        pytest.param({"zome": "a"}, (), "unknown parameters: zome", id="misspelt"),
        pytest.param({"type": "tape"}, (), '"tape" is not one of standard, ssd', id="type"),
        pytest.param({"replication": "three"}, (), '"three" is not one of', id="replication"),
        pytest.param(REPLICATED, ("europe-a",), "needs 2 zones", id="too-few-zones"),
        pytest.param({"zones": "a"}, ("a",), "exclude each other", id="zones-twice"),
    ],
)
def test_a_class_that_cannot_work_is_objected_to(
    provisioner: ZonalDisk, parameters: dict[str, str], zones: tuple[str, ...], why: str
) -> None:
    assert why in provisioner.objection(a_claim(), a_class_with(parameters, zones=zones))


def test_a_class_that_can_work_is_not(provisioner: ZonalDisk) -> None:
    allowed = a_class_with({"type": "ssd"} | REPLICATED, zones=("europe-a", "europe-b"))
    assert provisioner.objection(a_claim(), allowed) == ""


async def test_disks_are_kept_in_a_file_unless_memory_is_asked_for(tmp_path: Path) -> None:
    async def provision(**options: str) -> None:
        where = ProvisionerEnvironment(
            directory=tmp_path / "own", blocking=at_once, options=options
        )
        await make(where).provision(a_request(nodes=NODES))

    await provision(file="memory")
    assert _files(tmp_path) == []
    await provision(**{"zone-size": "5Gi"})
    assert _files(tmp_path) == ["own/disks.json"]


def _files(directory: Path) -> list[str]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return [str(path.relative_to(directory)) for path in found]
