"""What the loops of the node process observe, and which of it the decision about a pod reads."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver, VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import View
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.desired_volumes import CsiVolume, DesiredVolume, Storage, desired_volumes
from plimsoll.decide.node.volumes import ObservedNode, must_be_attached
from plimsoll.decide.plan import Emit, EventType
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, PODS_BY_NODE, claims_of, node_of
from plimsoll.reconcile.observed import Observed
from plimsoll.wire.parameters import Selection

T = TypeVar("T", bound=ApiObject)

PODS_BY_UID = "uid"
CLAIMS_BY_VOLUME = "volume"


class _ByName(Mapping[str, T], Generic[T]):
    """A view of a kind without namespaces, by name."""

    __slots__ = ("_view",)

    def __init__(self, view: View[T]) -> None:
        self._view = view

    def __getitem__(self, name: str) -> T:
        found = self._view.get(ObjectKey("", name))
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (key.name for key in self._view.objects)

    def __len__(self) -> int:
        return len(self._view)


class NodeObservation:
    """Make it before watching begins."""

    def __init__(self, observed: Observed, nodes: Mapping[str, ServedNode]) -> None:
        self.pods = observed.of(Pod)
        self.nodes = observed.of(Node)
        self.claims = observed.of(PersistentVolumeClaim)
        self.volumes = observed.of(PersistentVolume)
        self.drivers = observed.of(CSIDriver)
        self.attachments = observed.of(VolumeAttachment)
        self.pods.index(PODS_BY_NODE, node_of)
        self.pods.index(PODS_BY_UID, lambda pod: [pod.uid])
        self.pods.index(PODS_BY_CLAIM, claims_of)
        self.claims.index(CLAIMS_BY_VOLUME, lambda claim: [claim.spec.volume_name])
        if len(nodes) == 1:
            (name,) = nodes
            self.pods.only(Selection(fields=f"spec.nodeName={name}"))
            self.nodes.only(Selection(fields=f"metadata.name={name}"))

    def find_node(self, name: str) -> Node | None:
        return self.nodes.view().get(ObjectKey("", name))

    def find_pod(self, uid: str) -> Pod | None:
        return next(iter(self.pods.view().by(PODS_BY_UID, uid).values()), None)

    def pods_of(self, node: str) -> list[Pod]:
        return list(self.pods.view().by(PODS_BY_NODE, node).values())

    def staying(self, node: str) -> list[Pod]:
        """Pods of a node that have not ended and are not about to."""
        return [
            pod for pod in self.pods_of(node) if not pod.is_finished and not pod.is_being_deleted
        ]

    def wanted(self, pod: Pod, node: Node) -> list[DesiredVolume]:
        volumes = _ByName(self.volumes.view())
        storage = Storage(node=node, claims=self.claims.view().objects, volumes=volumes)
        return desired_volumes(pod, storage)

    def observed_node(self, served: ServedNode, node: Node) -> ObservedNode:
        """`volumesInUse` as far as it is sure to stay."""
        in_use = tuple(n for n in node.status.volumes_in_use if n in served.announced)
        status = msgspec.structs.replace(node.status, volumes_in_use=in_use)
        return ObservedNode(
            node=msgspec.structs.replace(node, status=status),
            actual=served.directory.actual,
            prepared=served.directory.prepared,
            registered=served.drivers.features,
            drivers=self._drivers(),
            attachments=self._attachments(),
        )

    def _drivers(self) -> Mapping[str, CSIDriver]:
        return _ByName(self.drivers.view())

    def _attachments(self) -> Mapping[str, VolumeAttachment]:
        return _ByName(self.attachments.view())

    def devices_wanted(self, served: ServedNode, node: Node) -> frozenset[Device]:
        """Devices that pods which stay on the node use, or wait for."""
        return frozenset(volume.device for volume in self._volumes_of(served, node))

    def devices_in_use(self, served: ServedNode, node: Node) -> frozenset[Device]:
        """What the node has to announce: all that needs attaching and is wanted or held."""
        drivers = self._drivers()
        wanted = {
            volume.device
            for volume in self._volumes_of(served, node)
            if must_be_attached(volume, drivers)
        }
        held = {
            device
            for device in served.directory.actual.devices
            if must_be_attached(CsiVolume(name="", device=device), drivers)
        }
        return frozenset(wanted | held)

    def _volumes_of(self, served: ServedNode, node: Node) -> Iterator[CsiVolume]:
        for pod in self.staying(served.name):
            for volume in self.wanted(pod, node):
                if isinstance(volume, CsiVolume) and not volume.is_inline:
                    yield volume


def pod_event(pod: Pod, reason: str, message: str, type_: EventType = EventType.WARNING) -> Emit:
    metadata = msgspec.to_builtins(pod.metadata)
    regarding = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return Emit(regarding=regarding, type=type_, reason=reason, message=message)
