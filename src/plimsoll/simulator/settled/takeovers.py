"""Takeovers some time after the last fault: what can be given back is given back."""

from collections.abc import Iterator

from plimsoll.api.core import ConfigMap, Node
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.fencing import decide_fencing
from plimsoll.decide.ceph.takeover.served_domains import decide_served_domains
from plimsoll.decide.ceph.takeover.served_labels import DomainPath
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap, parse_takeover_map
from plimsoll.decide.ceph.takeover.view import TakeoverView, find_domain_path
from plimsoll.processes.driver.domains.fences import is_in
from plimsoll.processes.driver.settings import topology_key
from plimsoll.simulator.cluster.driver_host import DriverHost
from plimsoll.simulator.cluster.mirror import CLAIMS, VOLUMES
from plimsoll.simulator.cluster.shape import MAP_ENTRY, TAKEOVER_MAP
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.volume_reach import claims_of
from plimsoll.wire.kind import typed


async def unsettled_takeovers(cluster: SimulatedCluster) -> list[str]:
    """What is left to do, in a sentence each."""
    if not cluster.shape.takeover:
        return []
    view = await _view(cluster)
    return sorted(left_to_do(view))


def left_to_do(view: TakeoverView) -> Iterator[str]:
    """What a controller would still do."""
    for change in decide_served_domains(view).changes:
        for label in change.added:
            yield f"node {change.node} has not got {label}"
        for label in change.removed:
            yield f"node {change.node} still has {label}"
    if view.closed is None:
        return
    decided = decide_fencing(view, {})
    for domain in decided.fence:
        yield f"domain {'.'.join(domain)} is not fenced, and the map names it"
    for domain in decided.release:
        yield f"domain {'.'.join(domain)} is not released, and no node outside depends on it"


async def _view(cluster: SimulatedCluster) -> TakeoverView:
    shape, client = cluster.shape, cluster.client
    host = cluster.drivers[shape.takeover]
    domains = DomainLabels(driver=shape.takeover, labels=shape.takeover_labels)
    return TakeoverView(
        domains=domains,
        nodes=(await client.list(typed(Node))).items,
        volumes=(await client.list(typed(PersistentVolume))).items,
        pods=(await client.list(typed(Pod))).items,
        attachments=(await client.list(typed(VolumeAttachment))).items,
        takeover=await _map(cluster),
        fenced=_fenced(host, domains, is_complete=True),
        closed=None if host.only_csi else _fenced(host, domains, is_complete=False),
    )


async def _map(cluster: SimulatedCluster) -> TakeoverMap:
    found = await cluster.client.find(typed(ConfigMap), TAKEOVER_MAP)
    return TakeoverMap() if found is None else parse_takeover_map(found.data[MAP_ENTRY])


def _fenced(host: DriverHost, domains: DomainLabels, *, is_complete: bool) -> list[DomainPath]:
    return [
        path
        for fence in host.fences
        if fence.is_complete is is_complete
        if (path := find_domain_path(domains, fence.domain))
    ]


def is_fenced_out(cluster: SimulatedCluster, pod: Document, node: str) -> bool:
    """Whether the pod waits on a node that gets no volumes of the driver, because others have taken
    over its zone."""
    shape = cluster.shape
    if not shape.takeover or shape.takeover not in _drivers(cluster, pod):
        return False
    told = next(each.topology for each in shape.nodes if each.name == node)
    segment = {topology_key(shape.takeover, key): value for key, value in told.items()}
    return any(is_in(segment, fence.domain) for fence in cluster.drivers[shape.takeover].fences)


def _drivers(cluster: SimulatedCluster, pod: Document) -> set[str]:
    """Of the volumes of a pod."""
    found: set[str] = set()
    for name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
        volume_name = "" if claim is None else claim["spec"].get("volumeName", "")
        volume = cluster.mirror.objects[VOLUMES].get(volume_name)
        if volume is not None and "csi" in volume["spec"]:
            found.add(volume["spec"]["csi"]["driver"])
    return found
