"""A driver obeys the newest leader of each lease, also after it was started again."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plimsoll.processes.driver.main import handlers
from plimsoll.processes.driver.settings import BackendSettings, Mounts
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.epochs import epoch_metadata
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.inprocess import Handler, InProcessCsi
from plimsoll.wire.csi.server import listening
from plimsoll.wire.csi.transport import CsiTransport, Metadata
from tests.processes.driver.drivers import (
    NAME,
    NODES,
    ONE_POOL,
    TWO_ZONES,
    Running,
    a_driver,
    create_request,
)

MADE = datetime(2030, 1, 31, 12, tzinfo=UTC)
DEADLINE = timedelta(seconds=10)


def epoch(transitions: int, *, lease: str = "storage/one", made: datetime = MADE) -> Metadata:
    return epoch_metadata(LeaderEpoch(lease=lease, lease_created_at=made, transitions=transitions))


def handlers_of(running: Running, node: int = 0) -> Mapping[str, Handler]:
    settings = BackendSettings(
        driver_name=NAME,
        data_dir=Path("/nonexistent"),
        nodes=NODES,
        options={"pools": list(ONE_POOL)},
        clock=running.clock,
        mounts=Mounts.NONE,
    )
    return handlers(running.driver, NODES[node], settings)


def transport_of(running: Running, node: int = 0) -> InProcessCsi:
    return InProcessCsi(handlers_of(running, node), running.clock)


async def create(transport: CsiTransport, name: str, said: Metadata | None = None) -> None:
    request = create_request(name, mib=1).SerializeToString()
    await transport.call(m.CREATE_VOLUME.name, request, within=DEADLINE, permit=lambda: said or {})


async def refusal(transport: CsiTransport, said: Metadata) -> DriverError:
    with pytest.raises(DriverError) as refused:
        await create(transport, "refused", said)
    return refused.value


async def test_a_leader_that_another_one_followed_changes_nothing() -> None:
    async with a_driver() as running:
        transport = transport_of(running)
        await create(transport, "first", epoch(3))
        await create(transport, "second", epoch(4))

        late = await refusal(transport, epoch(3))

        assert late.failure is DriverFailure.SUPERSEDED
        assert (late.is_certain, late.is_final) == (True, True)
        for told in ("storage/one", "2030-01-31T12:00:00Z/3", "2030-01-31T12:00:00Z/4"):
            assert told in late.detail
        names = [volume.name for volume in running.driver.ledger.volumes.all()]
        assert names == ["first", "second"]


async def test_questions_of_an_earlier_leader_are_answered() -> None:
    async with a_driver() as running:
        transport = transport_of(running)
        await create(transport, "first", epoch(4))
        request = csi.GetCapacityRequest().SerializeToString()
        assert await transport.call(
            m.GET_CAPACITY.name, request, within=DEADLINE, permit=lambda: epoch(3)
        )


async def test_programs_that_name_no_epoch_are_served() -> None:
    async with a_driver() as running:
        transport = transport_of(running)
        await create(transport, "ours", epoch(4))
        await create(transport, "theirs")
        assert len(running.driver.ledger.volumes.all()) == 2


async def test_the_leaders_of_other_leases_do_not_concern_each_other() -> None:
    async with a_driver() as running:
        transport = transport_of(running)
        await create(transport, "provisioner", epoch(9, lease="storage/provisioner"))
        await create(transport, "controller", epoch(0, lease="storage/controller"))
        await create(transport, "again", epoch(9, lease="storage/provisioner"))


async def test_the_first_leader_of_a_lease_that_was_made_anew_is_obeyed() -> None:
    async with a_driver() as running:
        transport = transport_of(running)
        await create(transport, "before", epoch(9))
        await create(transport, "after", epoch(0, made=MADE + timedelta(minutes=1)))

        late = await refusal(transport, epoch(9))

        assert late.failure is DriverFailure.SUPERSEDED


async def test_an_epoch_seen_on_one_socket_counts_on_all() -> None:
    async with a_driver(*TWO_ZONES) as running:
        await create(transport_of(running, 0), "first", epoch(4))
        late = await refusal(transport_of(running, 1), epoch(3))
        assert late.failure is DriverFailure.SUPERSEDED


async def test_a_driver_that_was_started_again_refuses_the_same_leaders(tmp_path: Path) -> None:
    async with a_driver(directory=tmp_path) as running:
        await create(transport_of(running), "first", epoch(4))
    async with a_driver(directory=tmp_path, seed=1) as running:
        late = await refusal(transport_of(running), epoch(3))
        assert late.failure is DriverFailure.SUPERSEDED


async def test_an_epoch_is_on_disk_before_its_first_call_is_carried_out() -> None:
    async with a_driver() as running:
        transport = transport_of(running)
        request = csi.DeleteVolumeRequest(volume_id="").SerializeToString()
        with pytest.raises(DriverError, match="volume_id"):
            await transport.call(
                m.DELETE_VOLUME.name, request, within=DEADLINE, permit=lambda: epoch(4)
            )
        assert (await refusal(transport, epoch(3))).failure is DriverFailure.SUPERSEDED


async def test_only_a_new_leader_costs_a_write() -> None:
    writes: list[int] = []
    async with a_driver(on_write=lambda: writes.append(1)) as running:
        transport = transport_of(running)
        await create(transport, "first", epoch(4))
        before = len(writes)
        await create(transport, "first", epoch(4))
        assert len(writes) == before
        await create(transport, "first", epoch(5))
        assert len(writes) == before + 2, "before and after the one write"


async def test_metadata_that_cannot_be_read_is_refused() -> None:
    async with a_driver() as running:
        wrong = await refusal(transport_of(running), {"plimsoll-lease": "storage/one"})
        assert wrong.failure is DriverFailure.REJECTED


@asynccontextmanager
async def over_a_socket(running: Running, path: Path) -> AsyncIterator[GrpcTransport]:
    async with listening(str(path), handlers_of(running)):
        transport = GrpcTransport(f"unix://{path}")
        yield transport
        await transport.close()


async def test_epochs_travel_over_grpc(tmp_path: Path) -> None:
    async with a_driver() as running, over_a_socket(running, tmp_path / "s") as transport:
        await create(transport, "first", epoch(4))
        late = await refusal(transport, epoch(3))
        assert late.failure is DriverFailure.SUPERSEDED
        assert "2030-01-31T12:00:00Z/4" in late.detail
