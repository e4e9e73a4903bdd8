"""Clusters and pods for tests of scheduling, on top of `tests.builders`."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from plimsoll.api.meta import ApiObject, OwnerReference
from plimsoll.api.pods import (
    ClaimTemplate,
    Container,
    ContainerResources,
    EphemeralVolume,
    Pod,
    PodSpec,
    PodVolume,
)
from plimsoll.api.policy import (
    DisruptionBudgetSpec,
    DisruptionBudgetStatus,
    PodDisruptionBudget,
)
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.assume import AssumingStore
from plimsoll.decide.annotations import BIND_COMPLETED
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.view import Cluster
from tests.builders import CLASS, HOSTNAME, a_class, meta

GIB = 2**30

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


def a_cluster(*objects: ApiObject) -> Cluster:
    return Cluster.of(objects)


def bound(claim: PersistentVolumeClaim, volume: str) -> PersistentVolumeClaim:
    spec = msgspec.structs.replace(claim.spec, volume_name=volume)
    return annotated(msgspec.structs.replace(claim, spec=spec), {BIND_COMPLETED: "yes"})


def annotated(
    claim: PersistentVolumeClaim, annotations: Mapping[str, str]
) -> PersistentVolumeClaim:
    merged = {**claim.annotations, **annotations}
    return msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, annotations=merged)
    )


def labelled(volume: PersistentVolume, labels: Mapping[str, str]) -> PersistentVolume:
    return msgspec.structs.replace(
        volume, metadata=msgspec.structs.replace(volume.metadata, labels=labels)
    )


def versioned(object_: T, version: int) -> T:
    metadata = msgspec.structs.replace(object_.metadata, resource_version=str(version))
    return msgspec.structs.replace(object_, metadata=metadata)


def owned_by(claim: PersistentVolumeClaim, pod: Pod) -> PersistentVolumeClaim:
    owner = OwnerReference(kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    metadata = msgspec.structs.replace(claim.metadata, owner_references=(owner,))
    return msgspec.structs.replace(claim, metadata=metadata)


def a_local_class(name: str = CLASS) -> StorageClass:
    """Of volumes that an administrator has to make by hand."""
    return a_class(name, provisioner="kubernetes.io/no-provisioner")


def a_pod_with(*volumes: PodVolume, name: str = "web-0", node: str = "") -> Pod:
    return Pod(metadata=meta(name, "default"), spec=PodSpec(volumes=volumes, node_name=node))


def a_pod_with_ephemeral_volume(name: str = "web-0", volume: str = "scratch") -> Pod:
    """Its claim is called `web-0-scratch`."""
    source = EphemeralVolume(volume_claim_template=ClaimTemplate())
    return a_pod_with(PodVolume(name=volume, ephemeral=source), name=name)


def a_container(name: str = "main", **requests: str) -> Container:
    return Container(name=name, resources=ContainerResources(requests=requests))


def on_host(name: str) -> dict[str, str]:
    return {HOSTNAME: name}


class Believed:
    """Claims and volumes that were observed, and what is assumed of them."""

    def __init__(self, *objects: ApiObject) -> None:
        self.volumes: AssumingStore[PersistentVolume] = AssumingStore()
        self.claims: AssumingStore[PersistentVolumeClaim] = AssumingStore()
        for object_ in objects:
            if isinstance(object_, PersistentVolume):
                self.volumes.put(object_.key, object_)
            elif isinstance(object_, PersistentVolumeClaim):
                self.claims.put(object_.key, object_)


def flags_by_node(kernel: Kernel, pod: Pod) -> dict[str, int] | Rejected:
    """Bits of `Blocked` by node, zero where it would do."""
    judged = kernel.judge(pod)
    if isinstance(judged, Rejected):
        return judged
    names = enumerate(kernel.columns.index.names)
    return {name: int(judged.flags[slot]) for slot, name in names if name}


def ranked(pod: Pod, priority: int, *, started: datetime | None = None, nominated: str = "") -> Pod:
    """With a priority, a time since which it runs, and a node that was promised to it."""
    spec = msgspec.structs.replace(pod.spec, priority=priority)
    status = msgspec.structs.replace(pod.status, start_time=started, nominated_node_name=nominated)
    return msgspec.structs.replace(pod, spec=spec, status=status)


def a_budget(
    name: str = "budget", *, labels: Mapping[str, str], allowed: int = 0
) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=meta(name, "default"),
        spec=DisruptionBudgetSpec(selector=LabelSelectorSpec(match_labels=labels)),
        status=DisruptionBudgetStatus(disruptions_allowed=allowed),
    )
