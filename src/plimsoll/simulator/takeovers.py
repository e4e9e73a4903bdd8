"""What must be true of lost zones at every step: nothing serves one that can still write.

A node serves a domain that it is not in only while the driver has it fenced. No volume is attached
elsewhere before that. On a node that is fenced nothing can be written.
"""

from collections.abc import Callable, Iterator, Mapping

from plimsoll.api.registry import Document
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.served_labels import (
    DomainPath,
    parse_label,
    served_label,
    served_prefix,
    wider_paths,
)
from plimsoll.decide.ceph.takeover.view import domain_segment
from plimsoll.processes.driver.domains.fences import is_in
from plimsoll.processes.driver.records import FenceRecord
from plimsoll.simulator.cluster.driver_host import AnsweredCall, DriverHost
from plimsoll.simulator.cluster.mirror import NODES
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.placements import STALE_SECONDS
from plimsoll.simulator.volume_reach import reaches
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi

SHOWING = frozenset(
    method.name
    for method in (methods.NODE_STAGE_VOLUME, methods.NODE_PUBLISH_VOLUME, methods.FENCE_DOMAIN)
)
Tell = Callable[[str], None]


class TakeoverWatch:
    def __init__(self, cluster: SimulatedCluster, *, early: Tell, writes: Tell) -> None:
        """Who is told of a domain that is served too early, and of a fenced node that can write."""
        self._cluster = cluster
        self._early, self._writes = early, writes
        shape = cluster.shape
        self._domains = DomainLabels(driver=shape.takeover, labels=shape.takeover_labels)
        self._homes: dict[str, DomainPath] = {
            node.name: tuple(node.topology[level] for level in self._domains.levels)
            for node in shape.nodes
        }
        self._left: dict[tuple[str, str], tuple[float, str]] = {}
        """When labels of domains were taken off nodes, and their values, by node and label."""
        if not shape.takeover:
            return
        self._host: DriverHost = cluster.drivers[shape.takeover]
        self._host.on_fence.append(self._fence_changed)
        self._host.on_done.append(self._called)
        cluster.mirror.on_change.append(self._changed)

    @property
    def may_happen(self) -> bool:
        """Whether the cluster has a driver whose domains can be taken over."""
        return bool(self._cluster.shape.takeover)

    def is_fenced_node(self, name: str) -> bool:
        """It does not serve its own zone; pods that are on it since before can only read."""
        if not self.may_happen:
            return False
        return self._is_fenced(domain_segment(self._domains, self._homes[name]))

    def may_come_back(self, node: Document, volume: Document) -> bool:
        """Whether the node reached the volume a moment ago, and the domain is still fenced: a pod
        that was on its way starts there, and the label comes back for it."""
        now, meta = self._cluster.network.loop.time(), node["metadata"]
        back = {
            label: value
            for (name, label), (at, value) in self._left.items()
            if name == meta["name"] and now - at <= STALE_SECONDS and self._is_label_fenced(label)
        }
        labels = {**back, **(meta.get("labels") or {})}
        return bool(back) and reaches({"metadata": {"labels": labels}}, volume)

    def _is_label_fenced(self, label: str) -> bool:
        path = parse_label(self._domains.driver, label)
        return path is not None and self._is_fenced(domain_segment(self._domains, path))

    def _changed(
        self, kind: str, key: str, before: Document | None, after: Document | None
    ) -> None:
        if kind != NODES or after is None:
            return
        self._check_labels(key, after)
        kept = after["metadata"].get("labels") or {}
        for label, value in ((before or after)["metadata"].get("labels") or {}).items():
            if label not in kept and label.startswith(served_prefix(self._domains.driver)):
                self._left[key, label] = (self._cluster.network.loop.time(), value)

    def _check_labels(self, name: str, node: Document) -> None:
        for domain in self._served_elsewhere(name, node["metadata"].get("labels") or {}):
            if not self._is_fenced(domain_segment(self._domains, domain)):
                self._early(f"{name} serves {'.'.join(domain)}, which is not fenced")

    def _served_elsewhere(self, name: str, labels: Mapping[str, str]) -> Iterator[DomainPath]:
        driver = self._domains.driver
        own = {served_label(driver, path) for path in wider_paths(self._homes[name])}
        for label in sorted(set(labels) - own):
            if label.startswith(served_prefix(driver)) and (path := parse_label(driver, label)):
                yield path

    def _is_fenced(self, segment: Mapping[str, str]) -> bool:
        return any(is_in(segment, fence.domain) for fence in self._host.fences if fence.is_complete)

    def _fence_changed(self, _before: FenceRecord | None, _after: FenceRecord | None) -> None:
        for name, node in self._cluster.mirror.objects[NODES].items():
            self._check_labels(name, node)

    def _called(self, call: AnsweredCall) -> None:
        driver = self._host.driver
        if driver is None:
            return
        if call.method == methods.CONTROLLER_PUBLISH_VOLUME.name:
            self._check_attached(csi.ControllerPublishVolumeRequest.FromString(call.request))
        if call.method in SHOWING:
            for wrong in sorted(set(self._writable())):
                self._writes(wrong)

    def _check_attached(self, request: csi.ControllerPublishVolumeRequest) -> None:
        driver = self._host.driver
        volume = None if driver is None else driver.ledger.volumes.find(request.volume_id)
        if volume is None or not volume.placement.served_from:
            return
        node = domain_segment(self._domains, self._homes[request.node_id])
        homes = volume.placement.topology
        if any(is_in(node, home) for home in homes) or all(map(self._is_fenced, homes)):
            return
        told = f"{volume.name} was attached to {request.node_id}, and its domain is not fenced"
        self._early(told)

    def _writable(self) -> Iterator[str]:
        driver = self._host.driver
        for node in () if driver is None else driver.fenced_nodes:
            if driver is None or not self._is_fenced(node.node.topology):
                continue
            for volume in driver.ledger.volumes.all():
                if node.can_write(volume):
                    yield f"{node.node.id} is fenced, and can write to {volume.name}"
