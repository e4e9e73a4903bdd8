"""A driver that starts makes true what its records say."""

from pathlib import Path

import msgspec
import pytest

from plimsoll.decide.ceph.domain_labels import DomainNotKnown, HomeDomain
from plimsoll.processes.driver.records import RecordPhase
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import TWO_ZONES, ZONE, a_driver, names


async def test_volumes_and_what_is_known_of_them_outlive_the_process(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=5)
        await running.attach(volume.volume_id)
        await running.driver.record_first_publish(volume.volume_id)
    async with a_driver(directory=tmp_path) as running:
        request = csi.ControllerGetVolumeRequest(volume_id=volume.volume_id)
        answer = await running.call(m.CONTROLLER_GET_VOLUME, request)
        assert answer.volume == volume
        assert list(answer.status.published_node_ids) == ["node-a"]
        record = await running.driver.volume(volume.volume_id)
        assert record.first_published_at == running.clock.now()


async def test_the_first_publish_is_recorded_once() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=5)
        await running.driver.record_first_publish(volume.volume_id)
        first = (await running.driver.volume(volume.volume_id)).first_published_at
        await running.release()
        await running.driver.record_first_publish(volume.volume_id)
        assert (await running.driver.volume(volume.volume_id)).first_published_at == first


async def test_what_was_half_made_is_cleared_away_and_finished_files_stay(tmp_path: Path) -> None:
    for name in ("volumes/pools-stranger", "volumes/.half.new", "snapshots/.half.new"):
        (tmp_path / name).mkdir(parents=True)
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=5)
        assert names(tmp_path / "volumes") == {volume.volume_id, "pools-stranger"}
        assert names(tmp_path / "snapshots") == set()


async def test_a_volume_that_cannot_be_settled_does_not_stand_in_the_way(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        volume = await running.create(mib=5)
        record = await running.driver.volume(volume.volume_id)
        making = msgspec.structs.replace(record, phase=RecordPhase.MAKING)
        running.driver.ledger.volumes.put(making)
    script = msgspec.json.encode([{"call": "DeleteVolume", "do": "fail"}])
    (tmp_path / "faults.yaml").write_bytes(script)
    async with a_driver(directory=tmp_path) as running:
        assert await running.volume_ids() == []
        assert await running.free_mib() == {"only": 1019}
        await running.create(mib=7)
        assert await running.free_mib() == {"only": 1017}


async def test_a_script_of_faults_that_is_wrong_is_named_with_what_is_known(
    tmp_path: Path,
) -> None:
    async with a_driver(directory=tmp_path) as running:
        (tmp_path / "faults.yaml").write_text("- {call: CreateVolum, do: fail}")
        with pytest.raises(DriverError, match=r"/faults.yaml: .*'CreateVolum'.*; known are Create"):
            await running.create(mib=5)


async def test_a_volume_is_attached_once_labels_tell_where_the_node_is() -> None:
    nodes = (NodeSettings(id="node-a"),)
    async with a_driver(*TWO_ZONES, nodes=nodes) as running:
        volume = await running.create(mib=5, zones=["b"])
        homes = running.driver.identity.homes
        homes.put("node-a", DomainNotKnown(status="Node node-a has no label zone."))
        assert not running.driver.served
        with pytest.raises(DriverError, match="Node node-a has no label zone"):
            await running.attach(volume.volume_id)
        homes.put("node-a", HomeDomain(topology={ZONE: "b"}, path=("b",)))
        assert list(running.driver.served) == [{ZONE: "b"}]
        await running.attach(volume.volume_id)
