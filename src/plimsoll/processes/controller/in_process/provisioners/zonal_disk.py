"""`plimsoll.dev/zonal-disk`: disks of a simulated cloud, each in one zone or replicated over two.

Nothing can be stored on them. They behave as the disks of a cloud do while claims are scheduled,
provisioned and reclaimed, which is what they are for.
"""

from pathlib import Path

from plimsoll.api.core import Node
from plimsoll.api.sizes import parse_size
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    MadeVolume,
    Provisioner,
    ProvisionerEnvironment,
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import (
    CloudDisk,
    SimulatedCloud,
    ZoneFullError,
)
from plimsoll.processes.controller.in_process.provisioners.zones import (
    REGION,
    ZONE,
    ZONE_PARAMETERS,
    Allowed,
    choose_zones,
    region_of,
    zone_of,
)
from plimsoll.runtime.blocking import Blocking

NAME = "plimsoll.dev/zonal-disk"
DRIVER = "zonal-disk.plimsoll.dev"
TYPES = ("standard", "ssd")
ZONES_BY_REPLICATION = {"none": 1, "two-zones": 2}
SEPARATOR = "__"
"""Between the zones in a volume's label."""


class ZonalDisk(Provisioner):
    name = NAME
    takes_mount_options = True
    known_parameters = frozenset({"type", "replication", *ZONE_PARAMETERS})

    def __init__(self, cloud: SimulatedCloud, blocking: Blocking) -> None:
        self._cloud = cloud
        self._blocking = blocking

    def objection(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> str:
        if objection := super().objection(claim, storage_class):
            return objection
        type_, replication = _type(storage_class), _replication(storage_class)
        if type_ not in TYPES:
            return f'parameter type: "{type_}" is not one of {", ".join(TYPES)}'
        if replication not in ZONES_BY_REPLICATION:
            known = ", ".join(ZONES_BY_REPLICATION)
            return f'parameter replication: "{replication}" is not one of {known}'
        try:
            allowed = Allowed.by(storage_class)
        except ValueError as error:
            return str(error)
        needed = ZONES_BY_REPLICATION[replication]
        if allowed.zones is not None and len(allowed.zones) < needed:
            listed = ", ".join(sorted(allowed.zones)) or "none"
            return f"replication {replication} needs {needed} zones, the class allows {listed}"
        return ""

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        class_ = request.storage_class
        count = ZONES_BY_REPLICATION[_replication(class_)]
        wanted = CloudDisk(
            name=request.volume_name,
            size_bytes=request.requested_bytes,
            type=_type(class_),
            zones=choose_zones(request, Allowed.by(class_), count),
        )
        try:
            disk = await self._blocking(lambda: self._cloud.create(wanted))
            if not _suits(disk, wanted):
                # From an attempt for another node; no volume records it, so it is not in use.
                await self._blocking(lambda: self._cloud.delete(disk.name))
                disk = await self._blocking(lambda: self._cloud.create(wanted))
        except ZoneFullError as error:
            raise ProvisionerError(
                # Without a selected node no scheduler would choose another zone.
                Trouble.WRONG_NODE if request.selected_node else Trouble.TRY_AGAIN,
                f"zone {error.zone} has {error.free_bytes} bytes left, "
                f"the disk needs {wanted.size_bytes}",
            ) from error
        return _described(disk, request)

    async def delete(self, request: DeleteRequest) -> None:
        source = request.volume.spec.csi if request.volume else None
        name = source.volume_handle if source else request.volume_name
        await self._blocking(lambda: self._cloud.delete(name))

    async def free_bytes(
        self,
        storage_class: StorageClass,  # noqa: ARG002 - all types share a zone's capacity
        node: Node | None,
    ) -> int | None:
        return None if node is None else self._cloud.free_bytes(zone_of(node))


def _type(storage_class: StorageClass) -> str:
    return storage_class.parameters.get("type", TYPES[0])


def _replication(storage_class: StorageClass) -> str:
    return storage_class.parameters.get("replication", "none")


def _suits(disk: CloudDisk, wanted: CloudDisk) -> bool:
    """The first zone is the one that matters: the selected node is in it."""
    return (
        disk.size_bytes >= wanted.size_bytes
        and disk.type == wanted.type
        and len(disk.zones) == len(wanted.zones)
        and wanted.zones[0] in disk.zones
    )


def _described(disk: CloudDisk, request: ProvisionRequest) -> MadeVolume:
    nodes = tuple(request.nodes())
    places = {ZONE: tuple(sorted(disk.zones))}
    regions = {region_of(zone, nodes) for zone in disk.zones}
    if all(regions):
        places[REGION] = tuple(sorted(regions))
    return MadeVolume(
        source={
            "csi": {
                "driver": DRIVER,
                "volumeHandle": disk.name,
                "volumeAttributes": {"type": disk.type},
            }
        },
        capacity_bytes=disk.size_bytes,
        reachable_from=places,
        labels={label: SEPARATOR.join(values) for label, values in places.items()},
    )


def make(environment: ProvisionerEnvironment) -> ZonalDisk:
    """Options: `file` where disks are kept, or `memory`; `zone-size`, such as 100Gi."""
    environment.refuse_options_but("file", "zone-size")
    file = environment.options.get("file") or str(environment.directory / "disks.json")
    size = environment.options.get("zone-size")
    cloud = SimulatedCloud(
        None if file == "memory" else Path(file),
        zone_bytes=None if size is None else parse_size(size),
    )
    return ZonalDisk(cloud, environment.blocking)
