"""A volume that csi-provisioner asked for and forgot is known; one that ours asked for is not."""

from datetime import timedelta

import msgspec
import pytest

from plimsoll.simulator.cluster.asked_volumes import AskedVolumes
from plimsoll.simulator.cluster.driver_host import STOCK_PROVISIONER, CsiLink
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.run import NoObserver, run_scenario
from plimsoll.simulator.scenario.file import parse_scenario
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi

DRIVER = "zonal.example"
SCENARIO = """
lasting: 1s
settling: 1m
cluster:
  zones: 1
  drivers:
  - {name: zonal.example, pools: [{per: zone, size: 10Gi}]}
  classes:
  - {name: zonal, driver: zonal.example}
"""
OURS, STOCK, DELETED = f"provisioner-{DRIVER}-0", f"{STOCK_PROVISIONER}{DRIVER}", ""


class Calls(NoObserver):
    """The processes ask for the same volume, one after the other; in between it is deleted."""

    def __init__(self, senders: tuple[str, ...]) -> None:
        self._senders = senders
        self._cluster: SimulatedCluster | None = None

    def attach(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def begin(self) -> None:
        assert self._cluster is not None
        self._cluster.user.spawn(self._call(self._cluster))

    async def _call(self, cluster: SimulatedCluster) -> None:
        volume_id = ""
        for sender in self._senders:
            process = SimulatedProcess(cluster.network.loop, sender or OURS)
            link = CsiLink(cluster.drivers[DRIVER], cluster.shape.nodes[0].name, process)
            client = CsiClient(link, within=timedelta(seconds=10))
            if sender == DELETED:
                deletion = csi.DeleteVolumeRequest(volume_id=volume_id)
                await client.call(methods.DELETE_VOLUME, deletion)
            else:
                made = await client.call(methods.CREATE_VOLUME, a_request())
                volume_id = made.volume.volume_id


def a_request() -> csi.CreateVolumeRequest:
    capability = csi.VolumeCapability(
        mount=csi.VolumeCapability.MountVolume(),
        access_mode=csi.VolumeCapability.AccessMode(
            mode=csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
        ),
    )
    return csi.CreateVolumeRequest(
        name="pvc-1",
        capacity_range=csi.CapacityRange(required_bytes=2**30),
        volume_capabilities=[capability],
    )


@pytest.mark.parametrize(
    ("senders", "is_known"),
    [
        pytest.param((STOCK,), True, id="csi-provisioner asked"),
        pytest.param((OURS,), False, id="ours asked"),
        pytest.param((OURS, STOCK), False, id="ours asked first"),
        pytest.param((STOCK, OURS), False, id="ours asked as well"),
        pytest.param((OURS, DELETED, STOCK), True, id="ours gave its own back before"),
        pytest.param((OURS, DELETED, DELETED, STOCK), True, id="and repeated the deletion"),
        pytest.param((STOCK, DELETED, OURS), False, id="the other one was deleted before"),
    ],
)
def test_a_volume_that_no_object_names(senders: tuple[str, ...], *, is_known: bool) -> None:
    scenario = msgspec.structs.replace(parse_scenario(SCENARIO), seed=1)
    verdict = run_scenario(scenario, observer=Calls(senders))
    assert [each.invariant for each in verdict.violations] == [Invariant.NO_LEAKS]
    assert (not verdict.unknown) is is_known


@pytest.mark.parametrize(
    ("steps", "is_behind"),
    [
        pytest.param("delete ask", True, id="it was given what was being deleted"),
        pytest.param("ask delete", False, id="deleted after it was given it"),
        pytest.param("delete ask delete", False, id="deleted again, after it was given it"),
        pytest.param("ask", False, id="never deleted"),
        pytest.param("delete", False, id="never given to it"),
    ],
)
def test_a_volume_that_is_deleted_behind_csi_provisioner(steps: str, *, is_behind: bool) -> None:
    asked = AskedVolumes()
    for at, step in enumerate(steps.split()):
        if step == "ask":
            asked.add("pvc-1", at, is_stock=True)
        else:
            asked.delete("volume-1", at)
    assert asked.is_deleted_behind_stock("pvc-1", "volume-1") is is_behind
    assert not asked.is_deleted_behind_stock("pvc-1", "volume-2")
