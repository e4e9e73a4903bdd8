"""What a node believes of a volume when a call of its driver ends in the dark."""

from random import Random
from types import SimpleNamespace
from typing import NoReturn, cast

import pytest
from grpc import StatusCode

from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import StagedVolume
from plimsoll.processes.node.directory.protocol import NoDirectory
from plimsoll.processes.node.mounting import MountError, NodeMounting
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.csi.errors import driver_error
from plimsoll.wire.kube import KubeClient
from tests.wire.scripted import ScriptedTransport

DEVICE = Device("pools.test", "volume-1")


class FailingDriver:
    async def call(self, *_: object) -> NoReturn:
        raise driver_error(StatusCode.ABORTED, method="NodeUnstageVolume", detail="who knows")


async def test_a_volume_may_not_be_staged_any_more_when_unstaging_it_failed() -> None:
    directory, driver = NoDirectory("node-a"), FailingDriver()
    await directory.end_stage(StagedVolume(device=DEVICE, name="data"))
    drivers = SimpleNamespace(find=lambda _name: driver)
    served = cast("ServedNode", SimpleNamespace(directory=directory, drivers=drivers))
    client = KubeClient(ScriptedTransport(), clock=SteppedClock(), chance=Random(1))
    with pytest.raises(MountError, match="who knows"):
        await NodeMounting(client).unstage(served, directory.actual.staged[DEVICE])
    assert not directory.actual.staged[DEVICE].sure, "the next pod has it staged anew"
