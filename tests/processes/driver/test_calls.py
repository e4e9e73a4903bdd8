"""Calls are counted by method and code; what they carry is not logged."""

import logging

import pytest

from plimsoll.processes.driver.calls import Calls
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import resource_exhausted
from plimsoll.wire.csi.transport import NO_METADATA, Metadata

NAME = "/csi.v1.Controller/CreateVolume"


async def answer(request: bytes, _: Metadata) -> bytes:
    if request == b"too much":
        raise resource_exhausted("no room")
    return request


async def test_answers_and_refusals_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    handler = Calls(metrics, SteppedClock()).counted({NAME: answer})[NAME]
    with caplog.at_level(logging.DEBUG):
        assert await handler(b"hidden", NO_METADATA) == b"hidden"
        with pytest.raises(CsiStatusError):
            await handler(b"too much", NO_METADATA)
    text = metrics.exposition().decode()
    for code in ("OK", "RESOURCE_EXHAUSTED"):
        line = f'plimsoll_driver_calls_total{{code="{code}",method="CreateVolume"}} 1.0'
        assert line in text
    assert 'plimsoll_driver_call_seconds_count{method="CreateVolume"} 2.0' in text
    assert [record.message for record in caplog.records] == ["call refused"]
    assert "hidden" not in caplog.text
