"""Pods that only their unused volumes keep from running: which volumes have to go, and why.

The rules are the scheduler's own. A pod is judged as it is, and again as if the volumes that may be
taken back had not been made. A volume that the node reaches on which the pod can run then is kept.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from plimsoll.api.meta import ObjectKey, find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import ClaimStatus, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import BIND_COMPLETED, ROLLING_BACK, SELECTED_NODE
from plimsoll.decide.claims.match import is_reachable
from plimsoll.decide.claims.writes import ClaimPhase
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.volume_binding.claims import is_fully_bound
from plimsoll.decide.workloads.owned import DAEMON_SET, REPLICA_SET, STATEFUL_SET

POD_SCHEDULED = "PodScheduled"
GATED = "SchedulingGated"
RECREATING = (STATEFUL_SET, REPLICA_SET, DAEMON_SET)
"""Owners that replace a pod which is deleted, and do not count it as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPair:
    claim: PersistentVolumeClaim
    volume: PersistentVolume


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    pod: Pod
    pairs: tuple[BoundPair, ...]
    """What has to be taken back, in the order of the pod's volumes."""
    node: str
    """Where the pod can run then."""
    why: str
    """Why it cannot run as it is: a sentence."""


def has_waited(pod: Pod, now: datetime, after: timedelta) -> bool:
    """Whether its scheduler has found no node for it for that long, and it still waits for one."""
    if pod.spec.node_name or pod.is_being_deleted or pod.is_finished:
        return False
    if pod.status.nominated_node_name or not pod.claims:
        return False
    condition = find_condition(pod.status.conditions, POD_SCHEDULED)
    if condition is None or condition.status != "False" or condition.reason == GATED:
        return False
    since = condition.last_transition_time or pod.metadata.creation_timestamp
    return since is not None and now - since >= after


def is_recreated(pod: Pod) -> bool:
    """Whether the pod may be deleted because its owner creates another one."""
    owner = pod.metadata.controller
    return owner is not None and any(workload.owns(owner) for workload in RECREATING)


def is_under_way(claims: Iterable[PersistentVolumeClaim]) -> bool:
    """A volume is being made for one of them, or is being taken back."""
    return any(
        ROLLING_BACK in claim.annotations
        or HOLD in claim.annotations
        or (SELECTED_NODE in claim.annotations and not is_fully_bound(claim))
        for claim in claims
    )


def decide_relocation(
    pod: Pod,
    kernel: Kernel,
    pairs: Mapping[ObjectKey, BoundPair],
    refused: Collection[str] = (),
) -> Relocation | None:
    """`pairs`: the claims of the pod whose volumes may be taken back. `refused`: nodes where a
    provisioner did not make a volume for another claim of the pod. None: nothing is to be done."""
    if not pairs or _usable(kernel, pod, refused):
        return None
    chosen = _best(pod, kernel, pairs, refused)
    if chosen is None:
        return None
    node, needed = chosen
    return Relocation(pod=pod, pairs=needed, node=node, why=_why(pod, kernel, refused))


def _usable(kernel: Kernel, pod: Pod, refused: Collection[str]) -> list[str]:
    judged = kernel.judge(pod)
    if isinstance(judged, Rejected):
        return []
    names = kernel.columns.index.names
    slots = judged.is_feasible.nonzero()[0]
    return sorted(names[slot] for slot in slots if names[slot] and names[slot] not in refused)


def _best(
    pod: Pod, kernel: Kernel, pairs: Mapping[ObjectKey, BoundPair], refused: Collection[str]
) -> tuple[str, tuple[BoundPair, ...]] | None:
    """The node for which the fewest volumes have to go, and these."""
    in_order = [pairs[key] for key in dict.fromkeys(pod.claims) if key in pairs]
    found: list[tuple[int, str, tuple[BoundPair, ...]]] = []
    for name in _usable(_without(kernel, in_order), pod, refused):
        node = kernel.columns.node(name)
        if node is not None:
            needed = tuple(p for p in in_order if not is_reachable(p.volume, node.labels))
            found.append((len(needed), name, needed))
    for number, name, needed in sorted(found, key=lambda each: each[:2]):
        if number and name in _usable(_without(kernel, needed), pod, refused):
            return name, needed
    return None


def _without(kernel: Kernel, pairs: Iterable[BoundPair]) -> Kernel:
    """The cluster as if these volumes had never been made."""
    other = kernel.fork()
    for pair in pairs:
        other.columns.remove(pair.volume)
        other.columns.put(_unbound(pair.claim))
    return other


def _unbound(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    gone = (BIND_COMPLETED, SELECTED_NODE)
    annotations = {name: text for name, text in claim.annotations.items() if name not in gone}
    return msgspec.structs.replace(
        claim,
        metadata=msgspec.structs.replace(claim.metadata, annotations=annotations),
        spec=msgspec.structs.replace(claim.spec, volume_name=""),
        status=ClaimStatus(phase=ClaimPhase.PENDING),
    )


def _why(pod: Pod, kernel: Kernel, refused: Collection[str]) -> str:
    decided = kernel.decide(pod)
    if isinstance(decided, NoNode):
        return decided.message
    nodes = ", ".join(sorted(refused))
    return f"no volume could be made for another claim of the pod on {nodes}."
