"""CSI's identity service: the name, version and capabilities of the driver."""

from google.protobuf.wrappers_pb2 import BoolValue

from plimsoll.processes.driver.core import Driver
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.server import answering

Service = csi.PluginCapability.Service
VolumeExpansion = csi.PluginCapability.VolumeExpansion


class IdentityService:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def handlers(self) -> dict[str, Handler]:
        entries = (
            answering(m.GET_PLUGIN_INFO, self.get_plugin_info),
            answering(m.GET_PLUGIN_CAPABILITIES, self.get_plugin_capabilities),
            answering(m.PROBE, self.probe),
        )
        return dict(entries)

    async def get_plugin_info(
        self, _request: csi.GetPluginInfoRequest
    ) -> csi.GetPluginInfoResponse:
        identity = self._driver.identity
        return csi.GetPluginInfoResponse(
            name=identity.name,
            vendor_version=identity.version,
            manifest={"backend": identity.backend},
        )

    async def get_plugin_capabilities(
        self, _request: csi.GetPluginCapabilitiesRequest
    ) -> csi.GetPluginCapabilitiesResponse:
        features = self._driver.backend.features
        services = (Service.CONTROLLER_SERVICE, Service.VOLUME_ACCESSIBILITY_CONSTRAINTS)
        found = [csi.PluginCapability(service=Service(type=kind)) for kind in services]
        if features.expansion:
            how = VolumeExpansion.ONLINE if features.online_expansion else VolumeExpansion.OFFLINE
            found.append(csi.PluginCapability(volume_expansion=VolumeExpansion(type=how)))
        return csi.GetPluginCapabilitiesResponse(capabilities=found)

    async def probe(self, _request: csi.ProbeRequest) -> csi.ProbeResponse:
        return csi.ProbeResponse(ready=BoolValue(value=self._driver.is_ready))
