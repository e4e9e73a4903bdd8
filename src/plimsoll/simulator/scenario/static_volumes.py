"""Volumes that users make by hand, for claims to compete for."""

from collections.abc import Iterator, Mapping, Sequence

from plimsoll.api.registry import Document
from plimsoll.simulator.scenario.user import Action, ClusterUser

HOSTNAME = "kubernetes.io/hostname"


class CreateLocalVolumes(Action, frozen=True, kw_only=True, tag="createLocalVolumes"):
    """Disks of one node, which no driver knows of."""

    name: str
    node: str
    volumes: int = 3
    class_name: str
    size: str = "1Gi"

    async def carry_out(self, user: ClusterUser) -> None:
        for document in local_volumes(self):
            await user.create(document)


class RecreateLocalVolumes(
    CreateLocalVolumes, frozen=True, kw_only=True, tag="recreateLocalVolumes"
):
    """Delete them, and create others under the same names as soon as these are free."""

    async def carry_out(self, user: ClusterUser) -> None:
        await user.create_anew([*local_volumes(self)])


class CreateZonalVolumes(Action, frozen=True, kw_only=True, tag="createZonalVolumes"):
    """Volumes that the driver of the class makes in a zone before any claim asks for them."""

    name: str
    zone: str
    volumes: int = 2
    class_name: str = "zonal"
    size: str = "1Gi"

    async def carry_out(self, user: ClusterUser) -> None:
        driver = user.driver_of(self.class_name)
        for number in range(self.volumes):
            name = f"{self.name}-{number}"
            made = await user.provision(driver, name, self.size, self.zone)
            if made is None:
                continue
            source = {"csi": {"driver": driver, "volumeHandle": made.volume_id}}
            places = [topology.segments for topology in made.accessible_topology]
            await user.create(_volume(self, name, source, places))


def local_volumes(wanted: CreateLocalVolumes) -> Iterator[Document]:
    for number in range(wanted.volumes):
        name = f"{wanted.name}-{number}"
        source = {"local": {"path": f"/mnt/{name}"}}
        places = [{HOSTNAME: wanted.node}]
        yield _volume(wanted, name, source, places)


def _volume(
    wanted: CreateLocalVolumes | CreateZonalVolumes,
    name: str,
    source: Document,
    places: Sequence[Mapping[str, str]],
) -> Document:
    """It is kept when its claim goes: what made it is not there to delete it."""
    terms = [
        {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]}
                for key, value in sorted(place.items())
            ]
        }
        for place in places
    ]
    spec: Document = {
        "capacity": {"storage": wanted.size},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": wanted.class_name,
        **source,
    }
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    metadata = {"name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
