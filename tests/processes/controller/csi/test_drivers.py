"""Drivers on real sockets: waited for, followed through restarts, asked anew afterwards."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from grpc import StatusCode

from plimsoll.processes.controller.csi.drivers import DriverSources, KnownDrivers
from plimsoll.runtime.clock import SteppedClock, SystemClock
from plimsoll.runtime.leading.fence import Fence
from plimsoll.simulator.stories.csi_plugin import DRIVER, Plugin
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.server import listening
from plimsoll.wire.errors import FencedError

MOMENT = timedelta(milliseconds=20)
TURNS = 500


@asynccontextmanager
async def following(drivers: KnownDrivers) -> AsyncIterator[None]:
    task = asyncio.ensure_future(drivers.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], bool], clock: SteppedClock) -> None:
    """A second of the drivers' time passes in every moment of ours."""
    for _ in range(TURNS):
        if condition():
            return
        clock.advance(timedelta(seconds=1))
        await SystemClock().sleep(MOMENT)
    raise AssertionError("it never came to that")


def expands(drivers: KnownDrivers) -> bool:
    found = drivers.find(DRIVER)
    return found is not None and "EXPAND_VOLUME" in found.controller


async def test_a_driver_is_waited_for_and_asked_anew_when_it_comes_back(tmp_path: Path) -> None:
    clock, socket = SteppedClock(), tmp_path / "csi.sock"
    drivers = KnownDrivers(DriverSources(addresses=(str(socket),)), clock, Fence.left_open(clock))
    came: list[str] = []
    drivers.on_change(came.append)
    async with following(drivers):
        await SystemClock().sleep(MOMENT)
        assert drivers.all() == []
        async with listening(f"unix://{socket}", Plugin(capabilities=()).handlers()):
            await until(lambda: drivers.find(DRIVER) is not None, clock)
            assert not expands(drivers)
        await until(lambda: drivers.find(DRIVER) is None, clock)
        async with listening(f"unix://{socket}", Plugin().handlers()):
            await until(lambda: expands(drivers), clock)
            assert [driver.name for driver in drivers.all()] == [DRIVER]
    assert came == [DRIVER, DRIVER]


async def test_a_driver_that_says_no_is_still_there() -> None:
    clock, plugin = SteppedClock(), Plugin(has_node_service=True)
    sources = DriverSources(transports={DRIVER: InProcessCsi(plugin.handlers(), clock)})
    drivers = KnownDrivers(sources, clock, Fence.left_open(clock))
    async with following(drivers):
        await clock.run(timedelta(seconds=1))
        found = drivers.find(DRIVER)
        assert found is not None
        assert found.node == {"EXPAND_VOLUME"}
        plugin.fail("Probe", StatusCode.INTERNAL, times=3)
        await clock.run(timedelta(minutes=1))
        assert drivers.find(DRIVER) is found


@pytest.mark.parametrize(
    "call", ["Probe", "GetPluginInfo", "GetPluginCapabilities", "ControllerGetCapabilities"]
)
async def test_a_driver_that_is_not_ready_is_asked_again(call: str) -> None:
    clock, plugin = SteppedClock(), Plugin()
    plugin.fail(call, StatusCode.UNAVAILABLE, times=5)
    sources = DriverSources(transports={DRIVER: InProcessCsi(plugin.handlers(), clock)})
    drivers = KnownDrivers(sources, clock, Fence.left_open(clock))
    async with following(drivers):
        await clock.run(timedelta(seconds=3))
        assert drivers.find(DRIVER) is None
        await clock.run(timedelta(seconds=10))
        assert drivers.find(DRIVER) is not None


async def test_a_driver_is_not_called_once_another_controller_may_lead() -> None:
    clock, plugin = SteppedClock(), Plugin()
    fence = Fence(clock)
    fence.extend(5)
    sources = DriverSources(transports={DRIVER: InProcessCsi(plugin.handlers(), clock)})
    drivers = KnownDrivers(sources, clock, fence)
    async with following(drivers):
        await clock.run(timedelta(seconds=10))
        found = drivers.find(DRIVER)
        assert found is not None, "questions are allowed"
        with pytest.raises(FencedError):
            await found.client.call(methods.DELETE_SNAPSHOT, csi.DeleteSnapshotRequest())
