"""What the server says about one volume and all that may use it, at this moment: no cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.rollback.objections import RollbackView
from plimsoll.processes.controller.rollback.usage import SeenVersions
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import EVERYTHING, Selection

PODS, NODES = typed(Pod), typed(Node)
CLAIMS, VOLUMES = typed(PersistentVolumeClaim), typed(PersistentVolume)
ATTACHMENTS = typed(VolumeAttachment)
SNAPSHOTS, CONTENTS = typed(VolumeSnapshot), typed(VolumeSnapshotContent)

T = TypeVar("T", bound=ApiObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    view: RollbackView
    versions: SeenVersions


async def read_rollback_view(client: KubeClient, volume: str, claim: ObjectKey) -> Reading:
    """The claim before the pods: a pod that is put on a node after the claim was seen to go has no
    claim to use. Raises KubeError."""
    found = await client.find(VOLUMES, ObjectKey("", volume))
    claims = (await client.list(CLAIMS)).items
    pods = await client.list(PODS, Selection(namespace=claim.namespace))
    attachments = await client.list(ATTACHMENTS)
    nodes = await client.list(NODES)
    volumes = await client.list(VOLUMES)
    in_namespace = Selection(namespace=claim.namespace)
    view = RollbackView(
        volume=found,
        claim=next((each for each in claims if each.key == claim), None),
        claims=claims,
        pods=pods.items,
        nodes={node.name: node for node in nodes.items},
        attachments=attachments.items,
        snapshots=await _served(client, SNAPSHOTS, in_namespace),
        contents=await _served(client, CONTENTS, EVERYTHING),
        volumes=volumes.items,
    )
    versions = SeenVersions(
        pods=pods.resource_version,
        attachments=attachments.resource_version,
        volumes=volumes.resource_version,
        nodes=nodes.resource_version,
    )
    return Reading(view=view, versions=versions)


async def _served(client: KubeClient, kind: Kind[T], selection: Selection) -> Sequence[T]:
    """Custom kinds need not be there."""
    try:
        return (await client.list(kind, selection)).items
    except KubeError as error:
        if error.failure is not Failure.NOT_FOUND:
            raise
        return ()
