"""Every call of CSI, of plugin registration and of Plimsoll's own services, with its types.

One table for both sides: a client calls a Method, a driver answers it.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from plimsoll.wire.csi.gen import (
    csi_pb2 as csi,
    domains_pb2 as domains,
    pluginregistration_pb2 as registration,
    pools_pb2 as pools,
)

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True)
class Method(Generic[Request, Response]):
    service: str
    call: str
    request: type[Request]
    response: type[Response]

    @property
    def name(self) -> str:
        """As it is called on the wire."""
        return f"/{self.service}/{self.call}"


IDENTITY = "csi.v1.Identity"
CONTROLLER = "csi.v1.Controller"
NODE = "csi.v1.Node"
REGISTRATION = "pluginregistration.Registration"
POOLS = "plimsoll.v1.Pools"
VOLUMES = "plimsoll.v1.Volumes"
DOMAINS = "plimsoll.v1.Domains"

GET_PLUGIN_INFO = Method(
    IDENTITY, "GetPluginInfo", csi.GetPluginInfoRequest, csi.GetPluginInfoResponse
)
GET_PLUGIN_CAPABILITIES = Method(
    IDENTITY,
    "GetPluginCapabilities",
    csi.GetPluginCapabilitiesRequest,
    csi.GetPluginCapabilitiesResponse,
)
PROBE = Method(IDENTITY, "Probe", csi.ProbeRequest, csi.ProbeResponse)

CREATE_VOLUME = Method(
    CONTROLLER, "CreateVolume", csi.CreateVolumeRequest, csi.CreateVolumeResponse
)
DELETE_VOLUME = Method(
    CONTROLLER, "DeleteVolume", csi.DeleteVolumeRequest, csi.DeleteVolumeResponse
)
CONTROLLER_PUBLISH_VOLUME = Method(
    CONTROLLER,
    "ControllerPublishVolume",
    csi.ControllerPublishVolumeRequest,
    csi.ControllerPublishVolumeResponse,
)
CONTROLLER_UNPUBLISH_VOLUME = Method(
    CONTROLLER,
    "ControllerUnpublishVolume",
    csi.ControllerUnpublishVolumeRequest,
    csi.ControllerUnpublishVolumeResponse,
)
VALIDATE_VOLUME_CAPABILITIES = Method(
    CONTROLLER,
    "ValidateVolumeCapabilities",
    csi.ValidateVolumeCapabilitiesRequest,
    csi.ValidateVolumeCapabilitiesResponse,
)
LIST_VOLUMES = Method(CONTROLLER, "ListVolumes", csi.ListVolumesRequest, csi.ListVolumesResponse)
GET_CAPACITY = Method(CONTROLLER, "GetCapacity", csi.GetCapacityRequest, csi.GetCapacityResponse)
CONTROLLER_GET_CAPABILITIES = Method(
    CONTROLLER,
    "ControllerGetCapabilities",
    csi.ControllerGetCapabilitiesRequest,
    csi.ControllerGetCapabilitiesResponse,
)
CREATE_SNAPSHOT = Method(
    CONTROLLER, "CreateSnapshot", csi.CreateSnapshotRequest, csi.CreateSnapshotResponse
)
DELETE_SNAPSHOT = Method(
    CONTROLLER, "DeleteSnapshot", csi.DeleteSnapshotRequest, csi.DeleteSnapshotResponse
)
LIST_SNAPSHOTS = Method(
    CONTROLLER, "ListSnapshots", csi.ListSnapshotsRequest, csi.ListSnapshotsResponse
)
GET_SNAPSHOT = Method(CONTROLLER, "GetSnapshot", csi.GetSnapshotRequest, csi.GetSnapshotResponse)
CONTROLLER_EXPAND_VOLUME = Method(
    CONTROLLER,
    "ControllerExpandVolume",
    csi.ControllerExpandVolumeRequest,
    csi.ControllerExpandVolumeResponse,
)
CONTROLLER_GET_VOLUME = Method(
    CONTROLLER,
    "ControllerGetVolume",
    csi.ControllerGetVolumeRequest,
    csi.ControllerGetVolumeResponse,
)
CONTROLLER_MODIFY_VOLUME = Method(
    CONTROLLER,
    "ControllerModifyVolume",
    csi.ControllerModifyVolumeRequest,
    csi.ControllerModifyVolumeResponse,
)

NODE_STAGE_VOLUME = Method(
    NODE, "NodeStageVolume", csi.NodeStageVolumeRequest, csi.NodeStageVolumeResponse
)
NODE_UNSTAGE_VOLUME = Method(
    NODE, "NodeUnstageVolume", csi.NodeUnstageVolumeRequest, csi.NodeUnstageVolumeResponse
)
NODE_PUBLISH_VOLUME = Method(
    NODE, "NodePublishVolume", csi.NodePublishVolumeRequest, csi.NodePublishVolumeResponse
)
NODE_UNPUBLISH_VOLUME = Method(
    NODE, "NodeUnpublishVolume", csi.NodeUnpublishVolumeRequest, csi.NodeUnpublishVolumeResponse
)
NODE_GET_VOLUME_STATS = Method(
    NODE, "NodeGetVolumeStats", csi.NodeGetVolumeStatsRequest, csi.NodeGetVolumeStatsResponse
)
NODE_EXPAND_VOLUME = Method(
    NODE, "NodeExpandVolume", csi.NodeExpandVolumeRequest, csi.NodeExpandVolumeResponse
)
NODE_GET_CAPABILITIES = Method(
    NODE, "NodeGetCapabilities", csi.NodeGetCapabilitiesRequest, csi.NodeGetCapabilitiesResponse
)
NODE_GET_INFO = Method(NODE, "NodeGetInfo", csi.NodeGetInfoRequest, csi.NodeGetInfoResponse)

REGISTRATION_INFO = Method(
    REGISTRATION, "GetInfo", registration.InfoRequest, registration.PluginInfo
)
NOTIFY_REGISTRATION_STATUS = Method(
    REGISTRATION,
    "NotifyRegistrationStatus",
    registration.RegistrationStatus,
    registration.RegistrationStatusResponse,
)

LIST_POOLS = Method(POOLS, "ListPools", pools.ListPoolsRequest, pools.ListPoolsResponse)
DELETE_NEVER_PUBLISHED = Method(
    VOLUMES,
    "DeleteNeverPublished",
    pools.DeleteNeverPublishedRequest,
    pools.DeleteNeverPublishedResponse,
)
GET_VOLUME_USE = Method(
    VOLUMES, "GetVolumeUse", pools.GetVolumeUseRequest, pools.GetVolumeUseResponse
)

FENCE_DOMAIN = Method(
    DOMAINS, "FenceDomain", domains.FenceDomainRequest, domains.FenceDomainResponse
)
CONFIRM_FENCE = Method(
    DOMAINS, "ConfirmFence", domains.ConfirmFenceRequest, domains.ConfirmFenceResponse
)
RELEASE_DOMAIN = Method(
    DOMAINS, "ReleaseDomain", domains.ReleaseDomainRequest, domains.ReleaseDomainResponse
)
GET_DOMAIN = Method(DOMAINS, "GetDomain", domains.GetDomainRequest, domains.GetDomainResponse)
LIST_DOMAINS = Method(
    DOMAINS, "ListDomains", domains.ListDomainsRequest, domains.ListDomainsResponse
)
