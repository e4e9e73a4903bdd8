"""A scheduler's kernel that has seen exactly what the API server has."""

from msgspec.structs import replace

from plimsoll.api.core import Namespace, Node, Service
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.simulator.cluster.mirror import (
    CLAIMS,
)
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.settled.copies import lacks_source
from plimsoll.wire.kind import typed

SCHEDULED_KINDS: tuple[type[ApiObject], ...] = (
    Node,
    StorageClass,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeAttachment,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    Namespace,
    Pod,
)


async def kernel_of(cluster: SimulatedCluster) -> Kernel:
    """A scheduler's kernel that has seen exactly what the server has.

    But for nodes that were selected for volumes which are not there yet: where such a node will
    not do, it is taken off the claim again. Only pods whose volumes have to wait for what they are
    filled with keep their places, here as in Kubernetes, until their bindings are given up.
    """
    columns = Columns()
    for kind in SCHEDULED_KINDS:
        for each in (await cluster.client.list(typed(kind))).items:
            if isinstance(each, Pod):
                if not each.is_finished:
                    columns.put(_where_it_waits(cluster, each))
            else:
                columns.put(_undecided(each))
    return Kernel(columns)


def _where_it_waits(cluster: SimulatedCluster, pod: Pod) -> Pod:
    claims = cluster.mirror.objects[CLAIMS]
    for claim in (claims[str(key)] for key in pod.claims if str(key) in claims):
        node = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if node and not pod.spec.node_name and lacks_source(cluster, claim):
            return replace(pod, spec=replace(pod.spec, node_name=node))
    return pod


def _undecided(object_: ApiObject) -> ApiObject:
    if not isinstance(object_, PersistentVolumeClaim) or object_.spec.volume_name:
        return object_
    kept = {name: value for name, value in object_.annotations.items() if name != SELECTED_NODE}
    return replace(object_, metadata=replace(object_.metadata, annotations=kept))
