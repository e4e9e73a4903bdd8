"""What a node believes of a volume when a call of its driver ends in the dark."""

from random import Random
from types import SimpleNamespace
from typing import NoReturn, cast

import pytest
from grpc import StatusCode

from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import PublishedPlace, PublishedVolume, StagedVolume
from plimsoll.decide.node.desired_volumes import CsiVolume
from plimsoll.decide.node.features import NodeFeatures
from plimsoll.decide.node.volumes import NodePublish
from plimsoll.processes.node.directory.protocol import NoDirectory
from plimsoll.processes.node.mounting import MountError, NodeMounting
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.csi.errors import driver_error
from plimsoll.wire.kube import KubeClient
from tests.builders import a_pod
from tests.wire.scripted import ScriptedTransport

DEVICE = Device("pools.test", "volume-1")


class FailingDriver:
    features = NodeFeatures()

    def __init__(self, code: StatusCode = StatusCode.ABORTED) -> None:
        self._code = code

    async def call(self, *_: object, **__: object) -> NoReturn:
        raise driver_error(self._code, method="NodeUnstageVolume", detail="who knows")


def served_by(driver: FailingDriver, directory: NoDirectory) -> ServedNode:
    drivers = SimpleNamespace(find=lambda _name: driver)
    return cast("ServedNode", SimpleNamespace(directory=directory, drivers=drivers))


def mounting() -> NodeMounting:
    return NodeMounting(KubeClient(ScriptedTransport(), clock=SteppedClock(), chance=Random(1)))


async def test_a_volume_may_not_be_staged_any_more_when_unstaging_it_failed() -> None:
    directory = NoDirectory("node-a")
    await directory.end_stage(StagedVolume(device=DEVICE, name="data"))
    served = served_by(FailingDriver(), directory)
    with pytest.raises(MountError, match="who knows"):
        await mounting().unstage(served, directory.actual.staged[DEVICE])
    assert not directory.actual.staged[DEVICE].sure, "the next pod has it staged anew"


@pytest.mark.parametrize(
    ("code", "is_staged"), [(StatusCode.FAILED_PRECONDITION, False), (StatusCode.ABORTED, True)]
)
async def test_a_volume_that_its_driver_does_not_know_as_staged_is_staged_anew(
    code: StatusCode, *, is_staged: bool
) -> None:
    """A pod waited for ever on a node whose zone had been fenced and given back."""
    directory = NoDirectory("node-a")
    await directory.end_stage(StagedVolume(device=DEVICE, name="data"))
    place = PublishedPlace(pod="uid", name="data")
    step = NodePublish(
        volume=CsiVolume(name="data", device=DEVICE),
        entry=PublishedVolume(place=place, device=DEVICE),
        staged=directory.actual.staged[DEVICE],
    )
    with pytest.raises(MountError, match="who knows"):
        await mounting().publish(served_by(FailingDriver(code), directory), a_pod(), step, None)
    assert directory.actual.staged[DEVICE].sure is is_staged
