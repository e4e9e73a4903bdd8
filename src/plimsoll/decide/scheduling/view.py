"""What the rules look at, without saying how it is found.

Everything that one decision asks must come from the same moment. Three classes show it, each for
one need: `Columns` is the cluster that a scheduler decides on, with what it has decided itself made
true; `NodeView` is the part of it that is about one node, so that an explanation need not look at
every volume; `Cluster` holds plain lists, for callers that have no columns to keep up to date.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

from plimsoll.api.core import Namespace, Node, Service
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import ReplicaSet, ReplicationController, StatefulSet

T = TypeVar("T", bound=ApiObject)

SelectingWorkload = ReplicaSet | ReplicationController | StatefulSet
"""Kinds of controllers whose selectors tell which pods are alike."""
WorkloadKey = tuple[str, ObjectKey]
"""The kind, and the name."""


class ClusterView(Protocol):
    def all_nodes(self) -> Sequence[Node]:
        """In the order of their names."""
        ...

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """None: there is no such namespace."""
        ...

    def services_selecting(self, pod: Pod) -> Sequence[Mapping[str, str]]:
        """The selectors of the Services that select the pod, in the order of their names."""
        ...

    def workload_selector(self, key: WorkloadKey) -> LabelSelectorSpec | None:
        """None: there is no such controller, or it has no selector."""
        ...

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None: ...

    def volume(self, name: str) -> PersistentVolume | None: ...

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        """In the order of their names: of equally good ones the first is taken."""
        ...

    def storage_class(self, name: str) -> StorageClass | None: ...

    def csi_driver(self, name: str) -> CSIDriver | None: ...

    def csi_node(self, node: str) -> CSINode | None: ...

    def capacities_of_class(self, name: str) -> Sequence[CSIStorageCapacity]:
        """In the order of their namespaces and names."""
        ...

    def attachments_to(self, node: str) -> Sequence[VolumeAttachment]: ...

    def pods_on(self, node: str) -> Sequence[Pod]:
        """Those that run there, and those that were decided to."""
        ...

    def is_claim_in_use(self, key: ObjectKey) -> bool:
        """Whether a pod on any node names the claim; ephemeral volumes do not name theirs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A view over objects that are all at hand."""

    nodes: Mapping[str, Node] = field(default_factory=dict)
    claims: Mapping[ObjectKey, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_drivers: Mapping[str, CSIDriver] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)
    capacities: Sequence[CSIStorageCapacity] = ()
    attachments: Sequence[VolumeAttachment] = ()
    pods: Sequence[Pod] = ()
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    services: Sequence[Service] = ()
    workloads: Mapping[WorkloadKey, SelectingWorkload] = field(default_factory=dict)

    @classmethod
    def of(cls, objects: Iterable[ApiObject]) -> Self:
        """Objects of any kinds, in any order; kinds that scheduling does not look at are ignored.

        Pods keep their order.
        """
        by_type: dict[type[ApiObject], list[ApiObject]] = {}
        for object_ in objects:
            by_type.setdefault(type(object_), []).append(object_)
        capacities = _all(by_type, CSIStorageCapacity)
        return cls(
            nodes={node.name: node for node in _all(by_type, Node)},
            claims={claim.key: claim for claim in _all(by_type, PersistentVolumeClaim)},
            volumes={volume.name: volume for volume in _all(by_type, PersistentVolume)},
            classes={class_.name: class_ for class_ in _all(by_type, StorageClass)},
            csi_drivers={driver.name: driver for driver in _all(by_type, CSIDriver)},
            csi_nodes={node.name: node for node in _all(by_type, CSINode)},
            capacities=sorted(capacities, key=lambda capacity: capacity.key),
            attachments=_all(by_type, VolumeAttachment),
            pods=_all(by_type, Pod),
            namespaces={each.name: each for each in _all(by_type, Namespace)},
            services=sorted(_all(by_type, Service), key=lambda service: service.key),
            workloads={workload_key(each): each for each in _workloads(by_type)},
        )

    def all_nodes(self) -> Sequence[Node]:
        return [node for _, node in sorted(self.nodes.items())]

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        found = self.namespaces.get(name)
        return None if found is None else found.labels

    def services_selecting(self, pod: Pod) -> Sequence[Mapping[str, str]]:
        own = (each.spec.selector for each in self.services if each.namespace == pod.namespace)
        return [labels for labels in own if LabelSelector.of_labels(labels).matches(pod.labels)]

    def workload_selector(self, key: WorkloadKey) -> LabelSelectorSpec | None:
        found = self.workloads.get(key)
        return None if found is None else selector_of(found)

    def node(self, name: str) -> Node | None:
        return self.nodes.get(name)

    def pod(self, key: ObjectKey) -> Pod | None:
        return next((pod for pod in self.pods if pod.key == key), None)

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.claims.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.volumes.get(name)

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        return [
            volume for _, volume in sorted(self.volumes.items()) if volume.storage_class == name
        ]

    def storage_class(self, name: str) -> StorageClass | None:
        return self.classes.get(name)

    def csi_driver(self, name: str) -> CSIDriver | None:
        return self.csi_drivers.get(name)

    def csi_node(self, node: str) -> CSINode | None:
        return self.csi_nodes.get(node)

    def capacities_of_class(self, name: str) -> Sequence[CSIStorageCapacity]:
        return [capacity for capacity in self.capacities if capacity.storage_class_name == name]

    def attachments_to(self, node: str) -> Sequence[VolumeAttachment]:
        return [attached for attached in self.attachments if attached.spec.node_name == node]

    def pods_on(self, node: str) -> Sequence[Pod]:
        return [pod for pod in self.pods if pod.spec.node_name == node]

    def is_claim_in_use(self, key: ObjectKey) -> bool:
        return any(
            pod.namespace == key.namespace and key.name in claim_names(pod)
            for pod in self.pods
            if pod.spec.node_name
        )


def workload_key(workload: SelectingWorkload) -> WorkloadKey:
    return type(workload).__name__, workload.key


def selector_of(workload: SelectingWorkload) -> LabelSelectorSpec | None:
    if isinstance(workload, ReplicationController):
        return LabelSelectorSpec(match_labels=workload.spec.selector)
    return workload.spec.selector


def claim_names(pod: Pod) -> list[str]:
    """The claims that the pod names itself, as often as it does; not those of ephemeral volumes."""
    claims = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return [claim.claim_name for claim in claims if claim is not None]


def _all(by_type: Mapping[type[ApiObject], list[ApiObject]], type_: type[T]) -> list[T]:
    return [object_ for object_ in by_type.get(type_, ()) if isinstance(object_, type_)]


def _workloads(by_type: Mapping[type[ApiObject], list[ApiObject]]) -> Iterator[SelectingWorkload]:
    yield from _all(by_type, ReplicaSet)
    yield from _all(by_type, ReplicationController)
    yield from _all(by_type, StatefulSet)
