"""A driver that dies at any moment of its work leaves no half-made volume, and loses none.

Death is an exception that nothing catches, at every write to the ledger (before it and after it)
and around every effect of the backend. After it nothing that the driver tries has an effect.
"""

from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.pools.faults import Crash, Fault, FaultyCall, When
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import MIB, ONE_POOL, Running, a_driver, names

TOTAL = 1024


class DiedError(BaseException):
    """No code of the driver catches it."""


class Mortal:
    """Dies at the given breath, and is dead from then on."""

    def __init__(self, breaths: int) -> None:
        self._breaths = breaths

    @property
    def is_dead(self) -> bool:
        return self._breaths <= 0

    def breathe(self) -> None:
        self._breaths -= 1
        if self.is_dead:
            raise DiedError

    def die(self) -> None:
        self._breaths = 0
        raise DiedError


Known = dict[str, str]
"""Ids by name, as the caller got them."""


async def story(running: Running, known: Known) -> None:
    """A life of volumes; `known` is what was acknowledged."""
    data = await running.create("data", mib=10, mutable={"iops": "5"})
    known["data"] = data.volume_id
    await running.attach(data.volume_id)
    await running.expand(data.volume_id, 20)
    request = csi.ControllerModifyVolumeRequest(
        volume_id=data.volume_id, mutable_parameters={"iops": "5"}
    )
    await running.call(m.CONTROLLER_MODIFY_VOLUME, request)
    snapshot = await running.take_snapshot(data.volume_id)
    known["snapshot"] = snapshot.snapshot_id
    device = await running.create("device", mib=30, block=True)
    known["device"] = device.volume_id
    copy = await running.create("copy", snapshot=snapshot.snapshot_id)
    known["copy"] = copy.volume_id
    await running.detach(data.volume_id)
    del known["snapshot"]
    await running.call(
        m.DELETE_SNAPSHOT, csi.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
    )
    del known["copy"]
    await running.delete(copy.volume_id)


async def check(running: Running, known: Known, directory: Path) -> None:
    """All that is there is whole, recorded and charged, and nothing else is there."""
    ledger = running.driver.ledger
    volumes, snapshots = ledger.volumes.all(), ledger.snapshots.all()
    files = names(directory / "volumes")
    assert {name.removesuffix(".img") for name in files} == {volume.id for volume in volumes}
    assert names(directory / "snapshots") == {snapshot.id for snapshot in snapshots}
    assert not any(volume.growing_bytes for volume in volumes)
    taken = sum(volume.size_bytes for volume in volumes)
    taken += sum(snapshot.size_bytes for snapshot in snapshots)
    assert await running.free_mib() == {"only": TOTAL - taken // MIB}
    present = {entry.id for entry in volumes} | {entry.id for entry in snapshots}
    assert set(known.values()) <= present


async def live_and_die(
    directory: Path, mortal: Mortal, known: Known, fault: Fault | None = None
) -> None:
    try:
        async with a_driver(*ONE_POOL, directory=directory, on_write=mortal.breathe) as running:
            running.backend.faults.crash = mortal.die
            if fault is not None:
                running.backend.faults.set(fault)
            await story(running, known)
    except DiedError:
        pass


async def live_again(directory: Path, known: Known, seed: int) -> None:
    """With other ids: a volume that is made anew is another one."""
    async with a_driver(*ONE_POOL, directory=directory, seed=seed) as running:
        await check(running, known, directory)
        for volume in running.driver.ledger.volumes.all():
            if volume.name == "copy":  # of a snapshot that may be gone by now
                await running.delete(volume.id)
        again: Known = {}
        await story(running, again)
        await check(running, again, directory)
        assert all(again[name] == id_ for name, id_ in known.items() if name in ("data", "device"))
        assert await running.free_mib() == {"only": TOTAL - 50}


BREATHS = 45
"""A little more than the story takes."""


@pytest.mark.parametrize("breaths", range(1, BREATHS))
async def test_dying_at_a_write_leaves_everything_whole(breaths: int, tmp_path: Path) -> None:
    mortal, known = Mortal(breaths), Known()
    await live_and_die(tmp_path, mortal, known)
    await live_again(tmp_path, known, seed=1)


async def test_all_writes_were_tried(tmp_path: Path) -> None:
    mortal = Mortal(BREATHS)
    await live_and_die(tmp_path, mortal, {})
    assert not mortal.is_dead


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("call", [call for call in FaultyCall if not call.startswith("Node")])
async def test_dying_around_an_effect_leaves_everything_whole(
    call: FaultyCall, when: When, tmp_path: Path
) -> None:
    mortal, known = Mortal(1000), Known()
    await live_and_die(tmp_path, mortal, known, Crash(call=call, when=when))
    assert mortal.is_dead
    await live_again(tmp_path, known, seed=1)


@pytest.mark.parametrize("breaths", range(1, 9))
async def test_dying_while_settling_is_settled_by_the_next_start(
    breaths: int, tmp_path: Path
) -> None:
    known = Known()
    await live_and_die(tmp_path, Mortal(1000), known, Crash(call=FaultyCall.SNAPSHOT))
    second = Mortal(breaths)
    await live_and_die(tmp_path, second, known)
    await live_again(tmp_path, known, seed=2)
