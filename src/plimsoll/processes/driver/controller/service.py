"""All calls of the controller service, and of Plimsoll's own services beside it, in one table.

A call that needs something which the backend does not have is not in the table: it is answered
UNIMPLEMENTED, and not advertised.
"""

from plimsoll.processes.driver.backends.protocol import BackendFeatures
from plimsoll.processes.driver.controller.answers import context_of
from plimsoll.processes.driver.controller.capacity import CapacityService
from plimsoll.processes.driver.controller.changes import Changes
from plimsoll.processes.driver.controller.creation import Creation, refused_options
from plimsoll.processes.driver.controller.listing import VolumeListing
from plimsoll.processes.driver.controller.publishing import ControllerPublishing
from plimsoll.processes.driver.controller.requests import (
    parse_capability,
    parse_parameters,
    required,
    unsupported,
)
from plimsoll.processes.driver.controller.snapshots import Snapshots, request_of
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.records import VolumeRecord
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.refusals import invalid_argument
from plimsoll.wire.csi.server import answering, answering_with_metadata

Rpc = csi.ControllerServiceCapability.RPC
ALWAYS = (
    Rpc.CREATE_DELETE_VOLUME,
    Rpc.LIST_VOLUMES,
    Rpc.GET_CAPACITY,
    Rpc.GET_VOLUME,
    Rpc.VOLUME_CONDITION,
    Rpc.SINGLE_NODE_MULTI_WRITER,
)
ATTACHING = (
    Rpc.PUBLISH_UNPUBLISH_VOLUME,
    Rpc.PUBLISH_READONLY,
    Rpc.LIST_VOLUMES_PUBLISHED_NODES,
)
SNAPSHOTTING = (Rpc.CREATE_DELETE_SNAPSHOT, Rpc.LIST_SNAPSHOTS, Rpc.GET_SNAPSHOT)


def advertised(features: BackendFeatures) -> list[csi.ControllerServiceCapability]:
    types = [
        *ALWAYS,
        *(ATTACHING if features.attach else ()),
        *(SNAPSHOTTING if features.snapshots else ()),
        *((Rpc.CLONE_VOLUME,) if features.clones else ()),
        *((Rpc.EXPAND_VOLUME,) if features.expansion else ()),
        *((Rpc.MODIFY_VOLUME,) if features.mutable_parameters else ()),
    ]
    return [csi.ControllerServiceCapability(rpc=Rpc(type=kind)) for kind in types]


class ControllerService:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._creation = Creation(driver)
        self._listing = VolumeListing(driver)
        self._capacity = CapacityService(driver)

    def handlers(self) -> dict[str, Handler]:
        features = self._driver.backend.features
        return {
            **self._always(),
            **(self._attaching() if features.attach else {}),
            **(self._snapshotting() if features.snapshots else {}),
            **(self._changing(features)),
        }

    def _always(self) -> dict[str, Handler]:
        entries = (
            answering_with_metadata(m.CREATE_VOLUME, self._creation.create_volume),
            answering(m.DELETE_VOLUME, self._creation.delete_volume),
            answering(m.DELETE_NEVER_PUBLISHED, self._creation.delete_never_published),
            answering(m.VALIDATE_VOLUME_CAPABILITIES, self.validate),
            answering(m.LIST_VOLUMES, self._listing.list_volumes),
            answering(m.CONTROLLER_GET_VOLUME, self._listing.get_volume),
            answering(m.GET_CAPACITY, self._capacity.get_capacity),
            answering(m.GET_VOLUME_USE, self._listing.get_volume_use),
            answering(m.LIST_POOLS, self._capacity.list_pools),
            answering(m.CONTROLLER_GET_CAPABILITIES, self.get_capabilities),
        )
        return dict(entries)

    def _attaching(self) -> dict[str, Handler]:
        publishing = ControllerPublishing(self._driver)
        entries = (
            answering(m.CONTROLLER_PUBLISH_VOLUME, publishing.publish_volume),
            answering(m.CONTROLLER_UNPUBLISH_VOLUME, publishing.unpublish_volume),
        )
        return dict(entries)

    def _snapshotting(self) -> dict[str, Handler]:
        snapshots = Snapshots(self._driver)
        entries = (
            answering(m.CREATE_SNAPSHOT, snapshots.create_snapshot),
            answering(m.DELETE_SNAPSHOT, snapshots.delete_snapshot),
            answering(m.LIST_SNAPSHOTS, self._listing.list_snapshots),
            answering(m.GET_SNAPSHOT, self._listing.get_snapshot),
        )
        return dict(entries)

    def _changing(self, features: BackendFeatures) -> dict[str, Handler]:
        changes = Changes(self._driver)
        found: dict[str, Handler] = {}
        if features.expansion:
            found |= [answering(m.CONTROLLER_EXPAND_VOLUME, changes.expand_volume)]
        if features.mutable_parameters:
            found |= [answering(m.CONTROLLER_MODIFY_VOLUME, changes.modify_volume)]
        return found

    async def get_capabilities(
        self, _request: csi.ControllerGetCapabilitiesRequest
    ) -> csi.ControllerGetCapabilitiesResponse:
        capabilities = advertised(self._driver.backend.features)
        return csi.ControllerGetCapabilitiesResponse(capabilities=capabilities)

    async def validate(
        self, request: csi.ValidateVolumeCapabilitiesRequest
    ) -> csi.ValidateVolumeCapabilitiesResponse:
        volume_id = required(request.volume_id, "volume_id")
        if not request.volume_capabilities:
            raise invalid_argument("volume_capabilities: must be given")
        volume = await self._driver.volume(volume_id)
        if problem := self._mismatch(volume, request):
            return csi.ValidateVolumeCapabilitiesResponse(message=problem)
        confirmed = csi.ValidateVolumeCapabilitiesResponse.Confirmed(
            volume_context=context_of(self._driver, volume),
            volume_capabilities=request.volume_capabilities,
            parameters=request.parameters,
            mutable_parameters=request.mutable_parameters,
        )
        return csi.ValidateVolumeCapabilitiesResponse(confirmed=confirmed)

    def _mismatch(
        self, volume: VolumeRecord, request: csi.ValidateVolumeCapabilitiesRequest
    ) -> str:
        """Why the volume is not like that; empty: it is."""
        for given in request.volume_capabilities:
            capability = parse_capability(given)
            if problem := unsupported(capability, self._driver.backend.features):
                return problem
            if capability.mode is not volume.mode:
                return f"volume {volume.id} is a {volume.mode} one"
            if capability.fs_type and volume.fs_type not in ("", capability.fs_type):
                return f"volume {volume.id} has file system {volume.fs_type}"
            layout = self._driver.backend.layout(request_of(volume))
            if problem := refused_options(capability.mount_options, layout):
                return f"volume {volume.id}: {problem}"
        given_parameters = parse_parameters(request.parameters)
        if given_parameters and given_parameters != dict(volume.parameters):
            return f"volume {volume.id} was made with other parameters"
        return ""
