"""The whole cluster in columns: takes objects as they come, change and go.

`put` and `remove` are all there is to it. What a process has decided and not yet seen confirmed it
puts like anything else. A `ClusterView` comes with it, so that the plain rules can look at the same
cluster one node at a time.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from plimsoll.api.core import Lease, Namespace, Node, NodeStatus, Service
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from plimsoll.decide.scheduling.columns.attachments import AttachColumns
from plimsoll.decide.scheduling.columns.capacity import CapacityColumns
from plimsoll.decide.scheduling.columns.changes import ChangeLog
from plimsoll.decide.scheduling.columns.claims import ClaimIndex
from plimsoll.decide.scheduling.columns.domains import DomainColumns
from plimsoll.decide.scheduling.columns.held_volumes import HeldVolumes
from plimsoll.decide.scheduling.columns.labels import LabelIndex, TaintIndex
from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.columns.pods.budgets import DisruptionBudgets
from plimsoll.decide.scheduling.columns.pods.counts import PodCounts
from plimsoll.decide.scheduling.columns.pods.index import PodIndex
from plimsoll.decide.scheduling.columns.pods.nominations import Nominations
from plimsoll.decide.scheduling.columns.pods.ports import PortIndex
from plimsoll.decide.scheduling.columns.pods.promised_loads import PromisedLoads
from plimsoll.decide.scheduling.columns.pods.terms import PlacedTerms
from plimsoll.decide.scheduling.columns.pods.workloads import WorkloadSelectors
from plimsoll.decide.scheduling.columns.reported.features import FeatureIndex
from plimsoll.decide.scheduling.columns.reported.images import ImageIndex
from plimsoll.decide.scheduling.columns.resources import NodeResources, ResourceColumns
from plimsoll.decide.scheduling.columns.segments import Segments
from plimsoll.decide.scheduling.columns.volumes import VolumeColumns
from plimsoll.decide.scheduling.pod_terms import Labels
from plimsoll.decide.scheduling.reservations.index import ReservationIndex
from plimsoll.decide.scheduling.view import WorkloadKey

NO_STATUS = NodeStatus()


class Columns:
    def __init__(self) -> None:
        self.index = NodeIndex()
        self.labels = LabelIndex(self.index)
        self.segments = Segments(self.labels)
        self.domains = DomainColumns(self.index)
        self.taints = TaintIndex()
        self.features = FeatureIndex()
        self.images = ImageIndex()
        self.resources = ResourceColumns(self.index)
        self.capacity = CapacityColumns(self.index, self.segments)
        self.volumes = VolumeColumns(self.index, self.segments)
        self.attach = AttachColumns(self.index)
        self.pods = PodIndex()
        self.namespaces: dict[str, Labels] = {}
        """The labels of all namespaces, by name."""
        self.pod_counts = PodCounts(self.index, self.namespaces)
        self.ports = PortIndex()
        self.workloads = WorkloadSelectors()
        self.pod_terms = PlacedTerms(self.index)
        self.budgets = DisruptionBudgets()
        self.nominations = Nominations()
        """Pods that wait in a queue; the queue's owner tells of them."""
        self.promised = PromisedLoads(self.nominations, self.pods.read)
        self.claims = ClaimIndex()
        self.held = HeldVolumes()
        self.reservations = ReservationIndex()
        self.loads = ChangeLog()
        """Slots of nodes whose free resources changed."""
        self.stamp = 0
        """Another number whenever nodes came, went, or differ in more than their resources."""
        self.classes_stamp = 0
        """Another number whenever a class or a driver is another."""
        self._nodes: dict[str, Node] = {}
        self.classes: dict[str, StorageClass] = {}
        self.drivers: dict[str, CSIDriver] = {}

    @classmethod
    def of(cls, objects: Iterable[ApiObject]) -> Self:
        columns = cls()
        for object_ in objects:
            columns.put(object_)
        return columns

    def put(self, object_: ApiObject) -> None:
        """Added or changed. Kinds that scheduling does not look at are ignored."""
        match object_:
            case Node():
                self._put_node(object_)
            case Pod():
                self._put_pod(object_)
            case PersistentVolumeClaim():
                self._put_claim(object_)
            case PersistentVolume():
                self._put_volume(object_)
            case StorageClass():
                self._put_class(object_)
            case CSIDriver():
                self._put_driver(object_)
            case CSINode():
                self._put_csi_node(object_)
            case CSIStorageCapacity():
                self.capacity.put(object_)
            case _:
                self._put_other(object_)

    def _put_other(self, object_: ApiObject) -> None:
        match object_:
            case VolumeAttachment():
                self.held.put_attachment(object_, self)
            case Lease():
                self.reservations.put_record(object_, self.capacity.reports)
            case Namespace():
                self._put_namespace(object_)
            case Service():
                self.workloads.put_service(object_)
            case ReplicaSet() | ReplicationController() | StatefulSet():
                self.workloads.put(object_)
            case PodDisruptionBudget():
                self.budgets.put(object_)
            case _:
                pass

    def remove(self, object_: ApiObject) -> None:
        """Its newest version or any older one."""
        key = object_.key
        match object_:
            case Node():
                self._remove_node(key)
            case Pod():
                self.reservations.remove_pod(key)
                self._remove_pod(key)
            case PersistentVolumeClaim():
                self._remove_claim(key)
            case PersistentVolume():
                self._remove_volume(key)
            case StorageClass():
                self._remove_class(key)
            case CSIDriver():
                self._remove_driver(key)
            case CSINode():
                self._remove_csi_node(key)
            case CSIStorageCapacity():
                self.capacity.remove(key)
            case _:
                self._remove_other(object_)

    def _remove_other(self, object_: ApiObject) -> None:
        match object_:
            case VolumeAttachment():
                self.held.remove_attachment(object_.name, self.attach)
            case Lease():
                self.reservations.remove_record(object_.key)
            case Namespace():
                if self.namespaces.pop(object_.name, None) is not None:
                    self.pod_counts.change_namespace()
            case Service():
                self.workloads.remove_service(object_.key)
            case ReplicaSet() | ReplicationController() | StatefulSet():
                self.workloads.remove(object_)
            case PodDisruptionBudget():
                self.budgets.remove(object_.key)
            case _:
                pass

    def _put_node(self, node: Node) -> None:
        name, old = node.name, self._nodes.get(node.name)
        self._nodes[name] = node
        slot = self.index.find(name)
        is_new = slot is None
        if slot is None:
            slot = self.index.add(name)
        old_labels = None if old is None else old.labels
        if is_new or old_labels != node.labels:
            self.labels.change(slot, old_labels or {}, node.labels)
            self.domains.change(slot, node.labels)
            self._cross(slot, self.segments.crossings(old_labels, node.labels))
        if is_new:
            self.attach.add_node(name, slot)
            for pod in self.pods.on(name):
                self._count_pod(pod, slot, 1)
        self.taints.change(slot, old, node)
        self._put_status(slot, NO_STATUS if old is None else old.status, node.status)
        if is_new or old is None or _distinction(old) != _distinction(node):
            self.stamp += 1
        if old is None or old.status.allocatable != node.status.allocatable:
            self.resources.write(slot, NodeResources.of(node), self.pods.load_of(name))
            self.loads.mark(slot)

    def _put_status(self, slot: int, old: NodeStatus, new: NodeStatus) -> None:
        """What the node's kubelet tells beside the resources, mostly as before."""
        if old.declared_features != new.declared_features:
            self.features.change(slot, old.declared_features, new.declared_features)
        if old.images != new.images:
            self.images.change(slot, old.images, new.images)

    def _remove_node(self, key: ObjectKey) -> None:
        node = self._nodes.pop(key.name, None)
        if node is None:
            return
        slot = self.index.remove(node.name)
        self.labels.change(slot, node.labels, {})
        self.domains.change(slot, None)
        self.pod_counts.clear_node(slot)
        for pod in self.pods.on(node.name):
            self._count_neighbour(pod, slot, -1)
        self._cross(slot, self.segments.crossings(node.labels, None))
        self.attach.remove_node(node.name, slot)
        self.taints.change(slot, node, None)
        self._put_status(slot, node.status, NO_STATUS)
        self.resources.clear(slot)
        self.loads.mark(slot)
        self.stamp += 1

    def _cross(self, slot: int, crossings: list[tuple[int, bool]]) -> None:
        self.capacity.cross(slot, crossings)
        self.volumes.cross(slot, crossings)

    def _put_pod(self, pod: Pod) -> None:
        self.reservations.put_pod(pod)
        if self.pods.replace(pod):
            return
        self._remove_pod(pod.key)
        if not pod.spec.node_name or pod.is_finished:
            return
        self.pods.add(pod)
        self._move_pod(pod, 1)
        self.held.count(pod, self)
        self._write_load(pod.spec.node_name)

    def _remove_pod(self, key: ObjectKey) -> None:
        pod = self.pods.remove(key)
        if pod is not None:
            self._move_pod(pod, -1)
            self.held.forget(pod, self.attach)
            self._write_load(pod.spec.node_name)

    def _move_pod(self, pod: Pod, step: int) -> None:
        slot = self.index.find(pod.spec.node_name)
        if slot is not None:
            self._count_pod(pod, slot, step)

    def _count_pod(self, pod: Pod, slot: int, step: int) -> None:
        self.pod_counts.add(pod, slot, step)
        self._count_neighbour(pod, slot, step)

    def _count_neighbour(self, pod: Pod, slot: int, step: int) -> None:
        self.ports.add(pod, slot, step)
        self.pod_terms.add(pod, slot, step)

    def _write_load(self, node: str) -> None:
        slot = self.index.find(node)
        if slot is not None:
            self.resources.write_load(slot, self.pods.load_of(node))
            self.loads.mark(slot)

    def _put_namespace(self, namespace: Namespace) -> None:
        is_other = self.namespaces.get(namespace.name) != namespace.labels
        self.namespaces[namespace.name] = namespace.labels
        if is_other:
            self.pod_counts.change_namespace()

    def _put_claim(self, claim: PersistentVolumeClaim) -> None:
        old = self.claims.by_key.get(claim.key)
        self.claims.put(claim)
        self.reservations.put_claim(claim)
        if old is None or _is_counted_by(old) != _is_counted_by(claim):
            self._recount(self.pods.using(claim.key))

    def _remove_claim(self, key: ObjectKey) -> None:
        self.claims.remove(key)
        self.reservations.remove_claim(key)
        self._recount(self.pods.using(key))

    def _put_volume(self, volume: PersistentVolume) -> None:
        self.volumes.put(volume)
        self.reservations.put_volume(volume, self.capacity.reports)
        self._volume_changed(volume.name)

    def _remove_volume(self, key: ObjectKey) -> None:
        self.volumes.remove(key.name)
        self.reservations.remove_volume(key.name)
        self._volume_changed(key.name)

    def _volume_changed(self, name: str) -> None:
        for claim in self.claims.naming(name):
            self._recount(self.pods.using(claim))
        self.held.recount_attachments(name, self)

    def _put_class(self, class_: StorageClass) -> None:
        old = self.classes.get(class_.name)
        self.classes[class_.name] = class_
        self.classes_stamp += 1
        if old is None or old.provisioner != class_.provisioner:
            self._recount_class(class_.name)

    def _remove_class(self, key: ObjectKey) -> None:
        self.classes_stamp += 1
        if self.classes.pop(key.name, None):
            self._recount_class(key.name)

    def _recount_class(self, name: str) -> None:
        for claim in self.claims.of_class(name):
            self._recount(self.pods.using(claim))

    def _put_driver(self, driver: CSIDriver) -> None:
        self.drivers[driver.name] = driver
        self.classes_stamp += 1

    def _remove_driver(self, key: ObjectKey) -> None:
        self.drivers.pop(key.name, None)
        self.classes_stamp += 1

    def _put_csi_node(self, csi_node: CSINode) -> None:
        is_new = self.attach.csi_node(csi_node.name) is None
        self.attach.put_csi_node(csi_node)
        if is_new:
            self._recount({pod.key for pod in self.pods.on(csi_node.name)})

    def _remove_csi_node(self, key: ObjectKey) -> None:
        self.attach.remove_csi_node(key.name)
        self._recount({pod.key for pod in self.pods.on(key.name)})

    def _recount(self, pods: Iterable[ObjectKey]) -> None:
        for key in sorted(pods):
            if pod := self.pods.get(key):
                self.held.count(pod, self)

    def take_over(self, other: "Columns") -> None:
        """After the same objects were put: what the other has seen and no object tells."""
        self.capacity.take_over(other.capacity)
        self.reservations.take_over(other.reservations)
        self.nominations.take_over(other.nominations)

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def all_nodes(self) -> list[Node]:
        return [node for _, node in sorted(self._nodes.items())]

    def namespace_labels(self, name: str) -> Labels | None:
        return self.namespaces.get(name)

    def services_selecting(self, pod: Pod) -> Sequence[Labels]:
        return self.workloads.services_selecting(pod)

    def workload_selector(self, key: WorkloadKey) -> LabelSelectorSpec | None:
        return self.workloads.get(key)

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.claims.by_key.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.volumes.get(name)

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        volumes = self.volumes.by_class.get(name)
        return volumes.all() if volumes else ()

    def storage_class(self, name: str) -> StorageClass | None:
        return self.classes.get(name)

    def csi_driver(self, name: str) -> CSIDriver | None:
        return self.drivers.get(name)

    def csi_node(self, node: str) -> CSINode | None:
        return self.attach.csi_node(node)

    def capacities_of_class(self, name: str) -> Sequence[CSIStorageCapacity]:
        capacity = self.capacity.by_class.get(name)
        return capacity.all() if capacity else ()

    def attachments_to(self, node: str) -> Sequence[VolumeAttachment]:
        return self.held.attachments_to(node)

    def pods_on(self, node: str) -> Sequence[Pod]:
        return self.pods.on(node)

    def is_claim_in_use(self, key: ObjectKey) -> bool:
        return self.pods.is_named(key)

    def fork(self) -> "Columns":
        """A copy that can be changed without changing this one, and the other way round."""
        twin = Columns()
        twin.index = self.index.fork()
        twin.labels = self.labels.fork(twin.index)
        twin.segments = self.segments.fork(twin.labels)
        twin.domains = self.domains.fork(twin.index)
        twin.taints, twin.features = self.taints.fork(), self.features.fork()
        twin.images = self.images.fork()
        twin.resources = self.resources.fork(twin.index)
        twin.capacity = self.capacity.fork(twin.index, twin.segments)
        twin.volumes = self.volumes.fork(twin.index, twin.segments)
        twin.attach = self.attach.fork(twin.index)
        twin.pods, twin.claims, twin.held = self.pods.fork(), self.claims.fork(), self.held.fork()
        twin.namespaces = self.namespaces.copy()
        twin.pod_counts = self.pod_counts.fork(twin.index, twin.namespaces)
        twin.workloads = self.workloads.fork()
        twin.ports, twin.pod_terms = self.ports.fork(), self.pod_terms.fork(twin.index)
        twin.budgets, twin.nominations = self.budgets.fork(), self.nominations.fork()
        twin.promised = PromisedLoads(twin.nominations, twin.pods.read)
        twin.reservations = self.reservations.fork()
        twin.loads = self.loads.fork()
        twin.stamp, twin.classes_stamp = self.stamp, self.classes_stamp
        twin._nodes, twin.classes = self._nodes.copy(), self.classes.copy()
        twin.drivers = self.drivers.copy()
        return twin


def _distinction(node: Node) -> tuple[Any, ...]:
    """What tells nodes apart beside their resources."""
    return node.labels, node.spec.taints, node.spec.unschedulable


def _is_counted_by(claim: PersistentVolumeClaim) -> tuple[Any, ...]:
    """What makes a claim stand for one volume or another on its pods' nodes."""
    return claim.spec.volume_name, claim.storage_class, claim.metadata.controller
