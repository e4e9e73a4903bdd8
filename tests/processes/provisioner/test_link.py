"""The driver introduces itself, and every call to it is counted."""

import asyncio
from datetime import timedelta

import pytest
from google.protobuf.wrappers_pb2 import BoolValue

from plimsoll.processes.provisioner.call_metrics import CallMetrics
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.refusals import resource_exhausted, unavailable
from plimsoll.wire.csi.server import answering

Plugin, Controller = csi.PluginCapability, csi.ControllerServiceCapability


class SmallDriver:
    """Ready when it was asked often enough."""

    def __init__(self, unready: int = 0) -> None:
        self.unready = unready

    async def probe(self, _: csi.ProbeRequest) -> csi.ProbeResponse:
        self.unready -= 1
        if self.unready == 1:
            raise unavailable("starting")
        return csi.ProbeResponse(ready=BoolValue(value=self.unready < 0))

    async def info(self, _: csi.GetPluginInfoRequest) -> csi.GetPluginInfoResponse:
        return csi.GetPluginInfoResponse(name="small.test")

    async def plugin(
        self, _: csi.GetPluginCapabilitiesRequest
    ) -> csi.GetPluginCapabilitiesResponse:
        service = Plugin.Service(type=Plugin.Service.CONTROLLER_SERVICE)
        growing = Plugin.VolumeExpansion(type=Plugin.VolumeExpansion.ONLINE)
        capabilities = [Plugin(service=service), Plugin(volume_expansion=growing)]
        return csi.GetPluginCapabilitiesResponse(capabilities=capabilities)

    async def controller(
        self, _: csi.ControllerGetCapabilitiesRequest
    ) -> csi.ControllerGetCapabilitiesResponse:
        types = (Controller.RPC.CREATE_DELETE_VOLUME, Controller.RPC.GET_CAPACITY)
        capabilities = [Controller(rpc=Controller.RPC(type=each)) for each in types]
        return csi.ControllerGetCapabilitiesResponse(capabilities=capabilities)

    async def node(self, _: csi.NodeGetInfoRequest) -> csi.NodeGetInfoResponse:
        topology = csi.Topology(segments={"host": "node-1"})
        return csi.NodeGetInfoResponse(node_id="node-1", accessible_topology=topology)

    async def capacity(self, _: csi.GetCapacityRequest) -> csi.GetCapacityResponse:
        raise resource_exhausted("no")

    def transport(self, clock: SteppedClock) -> InProcessCsi:
        table = (
            answering(m.PROBE, self.probe),
            answering(m.GET_PLUGIN_INFO, self.info),
            answering(m.GET_PLUGIN_CAPABILITIES, self.plugin),
            answering(m.CONTROLLER_GET_CAPABILITIES, self.controller),
            answering(m.NODE_GET_INFO, self.node),
            answering(m.GET_CAPACITY, self.capacity),
        )
        return InProcessCsi(dict(table), clock)


def a_link(driver: SmallDriver, clock: SteppedClock, metrics: Metrics) -> DriverLink:
    return DriverLink(CsiClient(driver.transport(clock)), clock, CallMetrics(metrics))


async def test_a_driver_says_who_it_is_and_what_it_can_do() -> None:
    clock = SteppedClock()
    facts = await a_link(SmallDriver(), clock, Metrics()).introduce(with_node=False)
    assert facts.name == "small.test"
    assert facts.plugin_capabilities == {"CONTROLLER_SERVICE"}
    assert facts.controller_capabilities == {"CREATE_DELETE_VOLUME", "GET_CAPACITY"}
    assert (facts.node_id, facts.segment) == ("", None)


async def test_on_a_node_it_also_says_where_that_is() -> None:
    facts = await a_link(SmallDriver(), SteppedClock(), Metrics()).introduce(with_node=True)
    assert (facts.node_id, facts.segment) == ("node-1", {"host": "node-1"})


async def test_a_driver_that_is_not_ready_is_waited_for() -> None:
    clock = SteppedClock()
    link = a_link(SmallDriver(unready=3), clock, Metrics())
    asking = asyncio.ensure_future(link.introduce(with_node=False))
    await clock.run(timedelta(seconds=1))
    assert not asking.done()
    await clock.run(timedelta(seconds=5))
    assert asking.result().name == "small.test"


async def test_calls_are_counted_by_how_they_ended() -> None:
    metrics = Metrics()
    link = a_link(SmallDriver(), SteppedClock(), metrics)
    await link.introduce(with_node=False)
    with pytest.raises(DriverError):
        await link.call(m.GET_CAPACITY, csi.GetCapacityRequest())
    shown = metrics.exposition().decode()
    name = 'csi_sidecar_operations_seconds_count{driver_name="small.test"'
    capabilities = "/csi.v1.Controller/ControllerGetCapabilities"
    assert f'{name},grpc_status_code="OK",method_name="{capabilities}"}} 1.0' in shown
    capacity = "/csi.v1.Controller/GetCapacity"
    assert f'{name},grpc_status_code="ResourceExhausted",method_name="{capacity}"}} 1.0' in shown
