"""After the cut, no call reaches the driver and no answer the process."""

import asyncio
from datetime import timedelta

import pytest
from grpc import StatusCode

from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.simulator.severed import Lifeline
from plimsoll.simulator.severed_csi import SeverableCsi
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.transport import Metadata

CREATE = "/csi.v1.Controller/CreateVolume"
PATIENCE = timedelta(seconds=10)


class SlowDriver:
    def __init__(self) -> None:
        self.volumes: list[bytes] = []
        self.may_answer = asyncio.Event()
        self.refuses = False

    async def create(self, request: bytes, _: Metadata) -> bytes:
        self.volumes.append(request)
        await self.may_answer.wait()
        if self.refuses:
            raise CsiStatusError(StatusCode.INTERNAL, "broken")
        return b"made"


@pytest.fixture
def driver() -> SlowDriver:
    return SlowDriver()


@pytest.fixture
def lifeline() -> Lifeline:
    return Lifeline()


@pytest.fixture
def transport(driver: SlowDriver, lifeline: Lifeline) -> SeverableCsi:
    return SeverableCsi(InProcessCsi({CREATE: driver.create}, SteppedClock()), lifeline)


async def hangs(call: "asyncio.Future[bytes]") -> bool:
    await settle()
    is_hanging = not call.done()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    return is_hanging


async def test_before_the_cut_calls_pass(driver: SlowDriver, transport: SeverableCsi) -> None:
    driver.may_answer.set()
    assert await transport.call(CREATE, b"a", within=PATIENCE) == b"made"


async def test_a_call_after_the_cut_never_reaches_the_driver(
    driver: SlowDriver, transport: SeverableCsi, lifeline: Lifeline
) -> None:
    lifeline.cut()
    assert await hangs(asyncio.ensure_future(transport.call(CREATE, b"a", within=PATIENCE)))
    assert driver.volumes == []


@pytest.mark.parametrize("refuses", [False, True], ids=["answer", "refusal"])
async def test_the_outcome_of_a_call_under_way_is_not_told(
    driver: SlowDriver, transport: SeverableCsi, lifeline: Lifeline, *, refuses: bool
) -> None:
    driver.refuses = refuses
    call = asyncio.ensure_future(transport.call(CREATE, b"a", within=PATIENCE))
    await settle()
    lifeline.cut()
    driver.may_answer.set()
    assert await hangs(call)
    assert driver.volumes == [b"a"]
