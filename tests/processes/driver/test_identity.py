"""Who answers, and what it says it can do."""

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import NAME, a_driver

Service = csi.PluginCapability.Service
VolumeExpansion = csi.PluginCapability.VolumeExpansion


async def test_a_driver_tells_its_name_and_version() -> None:
    async with a_driver() as running:
        info = await running.call(m.GET_PLUGIN_INFO, csi.GetPluginInfoRequest())
        assert (info.name, info.manifest["backend"]) == (NAME, "pools")
        assert info.vendor_version


async def test_a_driver_tells_what_it_can_do() -> None:
    async with a_driver() as running:
        request = csi.GetPluginCapabilitiesRequest()
        answer = await running.call(m.GET_PLUGIN_CAPABILITIES, request)
        services = {item.service.type for item in answer.capabilities} - {Service.UNKNOWN}
        expansion = {item.volume_expansion.type for item in answer.capabilities}
        assert services == {Service.CONTROLLER_SERVICE, Service.VOLUME_ACCESSIBILITY_CONSTRAINTS}
        assert VolumeExpansion.ONLINE in expansion


async def test_a_driver_is_ready_once_it_has_settled() -> None:
    async with a_driver() as running:
        assert (await running.call(m.PROBE, csi.ProbeRequest())).ready.value
        running.driver.is_ready = False
        assert not (await running.call(m.PROBE, csi.ProbeRequest())).ready.value
