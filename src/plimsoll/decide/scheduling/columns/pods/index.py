"""The pods that are on nodes, found by node, by claim and by disk, and what they take together."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, PodVolume
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.resources import Demands, Load
from plimsoll.decide.scheduling.view import claim_names

Disk = tuple[str, ...]
KEPT_DEMANDS = 4096

K = TypeVar("K")


def exclusive_disks(pod: Pod) -> Iterator[Disk]:
    """Disks that two pods may not mount, by what tells them apart at first sight."""
    for volume in pod.spec.volumes:
        yield from _disks(volume)


def _disks(volume: PodVolume) -> Iterator[Disk]:
    if gce := volume.gce_persistent_disk:
        yield "gce", gce.pd_name
    if ebs := volume.aws_elastic_block_store:
        yield "ebs", ebs.volume_id
    if iscsi := volume.iscsi:
        yield "iscsi", iscsi.iqn
    if rbd := volume.rbd:
        yield "rbd", rbd.pool, rbd.image


class PlacedDemands:
    """What pods take of their nodes, read once for all pods that take the same."""

    def __init__(self) -> None:
        self._kept: KeptResults[bytes, Demands] = KeptResults(KEPT_DEMANDS)

    def of(self, pod: Pod) -> Demands:
        fingerprint = _fingerprint(pod)
        kept = self._kept.get(fingerprint)
        return kept or self._kept.keep(fingerprint, Demands.of_placed(pod))


class PodIndex:
    def __init__(self) -> None:
        self._pods: dict[ObjectKey, Pod] = {}
        self._demands: dict[ObjectKey, Demands] = {}
        self._on: dict[str, dict[ObjectKey, Pod]] = {}
        self._loads: dict[str, Load] = {}
        self._using: dict[ObjectKey, set[ObjectKey]] = {}
        self._with_disk: dict[Disk, set[ObjectKey]] = {}
        self.read = PlacedDemands()

    def get(self, key: ObjectKey) -> Pod | None:
        return self._pods.get(key)

    def all(self) -> Iterable[Pod]:
        return self._pods.values()

    def on(self, node: str) -> list[Pod]:
        """In the order of their keys."""
        return [pod for _, pod in sorted(self._on.get(node, {}).items())]

    def by_key_on(self, node: str) -> Mapping[ObjectKey, Pod]:
        """The same in no order. Not to be written to."""
        return self._on.get(node, {})

    def demands_of(self, key: ObjectKey) -> Demands:
        """What a pod that is on a node takes of it."""
        return self._demands[key]

    def load_of(self, node: str) -> Load:
        return self._loads.get(node) or Load()

    def using(self, claim: ObjectKey) -> set[ObjectKey]:
        """Pods with the claim, be it by name or as that of an ephemeral volume."""
        return self._using.get(claim, set())

    def is_named(self, claim: ObjectKey) -> bool:
        """Whether a pod names the claim itself; ephemeral volumes do not name theirs."""
        return any(claim.name in claim_names(self._pods[key]) for key in self.using(claim))

    def nodes_with(self, disk: Disk) -> set[str]:
        return {self._pods[key].spec.node_name for key in self._with_disk.get(disk, ())}

    def replace(self, pod: Pod) -> bool:
        """Whether the pod was there and counts the same as before; then only its object is new."""
        old = self._pods.get(pod.key)
        is_same = (
            old is not None
            and old.uid == pod.uid
            and old.spec == pod.spec
            and old.labels == pod.labels
            and old.is_being_deleted == pod.is_being_deleted
            and old.status.start_time == pod.status.start_time
            and not pod.is_finished
            and _fingerprint(old) == _fingerprint(pod)
        )
        if is_same:
            self._pods[pod.key] = self._on[pod.spec.node_name][pod.key] = pod
        return is_same

    def add(self, pod: Pod) -> None:
        """One that has a node, and was not there."""
        key, node = pod.key, pod.spec.node_name
        self._pods[key] = pod
        self._on.setdefault(node, {})[key] = pod
        demands = self._demands[key] = self.read.of(pod)
        self._loads.setdefault(node, Load()).add(demands, 1)
        for claim in pod.claims:
            self._using.setdefault(claim, set()).add(key)
        for disk in exclusive_disks(pod):
            self._with_disk.setdefault(disk, set()).add(key)

    def remove(self, key: ObjectKey) -> Pod | None:
        pod = self._pods.pop(key, None)
        if pod is None:
            return None
        node = pod.spec.node_name
        del self._on[node][key]
        self._loads[node].add(self._demands.pop(key), -1)
        if not self._on[node]:
            del self._on[node], self._loads[node]
        for claim in pod.claims:
            _discard(self._using, claim, key)
        for disk in exclusive_disks(pod):
            _discard(self._with_disk, disk, key)
        return pod

    def fork(self) -> "PodIndex":
        twin = PodIndex()
        twin._pods, twin._demands = self._pods.copy(), self._demands.copy()
        twin._on = {node: pods.copy() for node, pods in self._on.items()}
        twin._loads = {node: load.fork() for node, load in self._loads.items()}
        twin._using = {claim: pods.copy() for claim, pods in self._using.items()}
        twin._with_disk = {disk: pods.copy() for disk, pods in self._with_disk.items()}
        return twin


def _discard(index: dict[K, set[ObjectKey]], key: K, pod: ObjectKey) -> None:
    index.get(key, set()).discard(pod)
    if not index.get(key):
        index.pop(key, None)


def _fingerprint(pod: Pod) -> bytes:
    """Pods with the same one take the same resources."""
    spec, status = pod.spec, pod.status
    parts = (spec.containers, spec.init_containers, spec.overhead, spec.resources)
    granted = [
        (each.name, each.allocated_resources, each.resources)
        for each in (*status.container_statuses, *status.init_container_statuses)
    ]
    resizing = [each for each in status.conditions if each.type == "PodResizePending"]
    return msgspec.msgpack.encode(
        (parts, granted, resizing, status.resources, status.allocated_resources)
    )
