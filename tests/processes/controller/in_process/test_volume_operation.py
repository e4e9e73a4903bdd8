import pytest

from plimsoll.processes.controller.in_process.volume_operation import call_provisioner
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.errors import FencedError


async def test_a_provisioner_inside_is_not_asked_once_another_controller_may_lead() -> None:
    calls: list[str] = []

    async def make() -> None:
        calls.append("made")

    clock = SteppedClock()
    await call_provisioner("disk", make, Fence.left_open(clock))
    with pytest.raises(FencedError, match="provisioner disk"):
        await call_provisioner("disk", make, Fence(clock))
    assert calls == ["made"]
