"""VolumeRestrictions: disks that no two pods of a node may mount, and claims that only one pod may
use at all."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, PodVolume
from plimsoll.api.volumes import SINGLE_POD_MODE
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.pods.index import exclusive_disks
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    Sentence,
    unresolvable,
    unschedulable,
)
from plimsoll.decide.scheduling.view import ClusterView, claim_names


@dataclass(frozen=True, slots=True, kw_only=True)
class SinglePodClaims:
    """The pod's claims that no second pod may use, and how often others do."""

    claims: frozenset[ObjectKey]
    in_use: tuple[ObjectKey, ...]
    uses: int

    def with_pod(self, pod: Pod, step: int) -> "SinglePodClaims":
        """As if a pod came to some node (1), or left it (-1). kube-scheduler counts it by the
        names of its claims, whatever its namespace."""
        names = [key.name for key in self.claims]
        used = sum(name in names for name in claim_names(pod))
        return replace(self, uses=self.uses + step * used)


def prepare(pod: Pod, view: ClusterView) -> SinglePodClaims | Judgement:
    """What `judge` needs, or a judgement that holds on every node."""
    claims: set[ObjectKey] = set()
    for name in claim_names(pod):
        key = ObjectKey(pod.metadata.namespace, name)
        claim = view.claim(key)
        if claim is None:
            sentence = f'persistentvolumeclaim "{name}" not found'
            return unresolvable(
                Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=sentence, claim=key)
            )
        if SINGLE_POD_MODE in claim.spec.access_modes:
            claims.add(key)
    in_use = tuple(key for key in sorted(claims) if view.is_claim_in_use(key))
    if not in_use and not any(is_exclusive(volume) for volume in pod.spec.volumes):
        return NOT_CONCERNED
    return SinglePodClaims(claims=frozenset(claims), in_use=in_use, uses=len(in_use))


def judge(pod: Pod, claims: SinglePodClaims, others: Iterable[Pod]) -> Judgement:
    """`others` are the pods on the node."""
    if finding := find_disk_conflict(pod, others):
        return unschedulable(finding)
    if claims.uses > 0:
        reason, sentence = Reason.READ_WRITE_ONCE_POD_CONFLICT, Sentence.SINGLE_POD
        return unschedulable(
            *(Finding(reason=reason, sentence=sentence, claim=claim) for claim in claims.in_use)
        )
    return FIT


def find_disk_conflict(pod: Pod, others: Iterable[Pod]) -> Finding | None:
    mine = [volume for volume in pod.spec.volumes if is_exclusive(volume)]
    if not mine:
        return None
    for other in others:
        if any(_conflict(a, b) for a in mine for b in other.spec.volumes):
            about = SeenObject("Pod", other.key)
            return Finding(reason=Reason.DISK_IN_USE, sentence=Sentence.DISK, about=about)
    return None


def is_exclusive(volume: PodVolume) -> bool:
    """A disk that the pod describes itself, of a kind that only one node can write to."""
    return not (
        volume.gce_persistent_disk is None
        and volume.aws_elastic_block_store is None
        and volume.rbd is None
        and volume.iscsi is None
    )


def _conflict(mine: PodVolume, other: PodVolume) -> bool:
    return (
        _same_gce_disk(mine, other)
        or _same_ebs_disk(mine, other)
        or _same_iscsi_target(mine, other)
        or _same_rbd_image(mine, other)
    )


def _same_gce_disk(mine: PodVolume, other: PodVolume) -> bool:
    a, b = mine.gce_persistent_disk, other.gce_persistent_disk
    return bool(a and b and a.pd_name == b.pd_name and not (a.read_only and b.read_only))


def _same_ebs_disk(mine: PodVolume, other: PodVolume) -> bool:
    a, b = mine.aws_elastic_block_store, other.aws_elastic_block_store
    return bool(a and b and a.volume_id == b.volume_id)


def _same_iscsi_target(mine: PodVolume, other: PodVolume) -> bool:
    a, b = mine.iscsi, other.iscsi
    return bool(a and b and a.iqn == b.iqn and not (a.read_only and b.read_only))


def _same_rbd_image(mine: PodVolume, other: PodVolume) -> bool:
    a, b = mine.rbd, other.rbd
    if not a or not b or (a.read_only and b.read_only):
        return False
    return (a.pool, a.image) == (b.pool, b.image) and not set(a.monitors).isdisjoint(b.monitors)


# All nodes at once


def blocked(pod: Pod, claims: SinglePodClaims, columns: Columns) -> Iterator[tuple[Blocked, int]]:
    """Nodes as bits."""
    disks = disk_conflicts(pod, columns)
    yield Blocked.DISK, disks
    if claims.uses > 0:
        yield Blocked.SINGLE_POD, columns.index.alive & ~disks


def disk_conflicts(pod: Pod, columns: Columns) -> int:
    """Nodes, as bits, on which another pod mounts a disk of this one."""
    names = {name for disk in exclusive_disks(pod) for name in columns.pods.nodes_with(disk)}
    found = 0
    for name in names:
        slot = columns.index.find(name)
        if slot is not None and find_disk_conflict(pod, columns.pods_on(name)):
            found |= 1 << slot
    return found
