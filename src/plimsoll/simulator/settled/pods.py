"""Pods that could run and do not, or should be gone and stay."""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.decide.scheduling.preemption.preemptor import Preemption
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.simulator.cluster.mirror import (
    CLAIMS,
    PODS,
    VOLUMES,
)
from plimsoll.simulator.cluster.shape import IN_PROCESS, NO_PROVISIONER
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.settled.assets import deleted_behind_stock
from plimsoll.simulator.settled.copies import (
    lacks_source,
    requested_bytes,
)
from plimsoll.simulator.settled.kernel import kernel_of
from plimsoll.simulator.settled.takeovers import is_fenced_out
from plimsoll.simulator.settled.unsettled import Unsettled, stuck
from plimsoll.simulator.volume_reach import claims_of

Refusals = Mapping[tuple[str, str], int]
"""How often a node was taken off a waiting claim since faults ended, by uid and node."""


FOR_EVER = 5
"""A node that has refused so often will do so again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingVolumes:
    """What a pod needs of one driver, and the most that one pool has for each node."""

    wanted_bytes: int
    free_bytes: Mapping[str, int]


async def unsettled_pods(cluster: SimulatedCluster, refusals: Refusals) -> list[Unsettled]:
    found: list[Unsettled] = []
    kernel: Kernel | None = None
    for key, document in sorted(cluster.mirror.objects[PODS].items()):
        phase = (document.get("status") or {}).get("phase")
        node = document["spec"].get("nodeName", "")
        if "deletionTimestamp" in document["metadata"]:
            found.append(stuck(f"pod {key} on {node or 'no node'} is being deleted and stays"))
        elif phase == "Pending" and node:
            if not _is_crowded_out(cluster, node) and not is_fenced_out(cluster, document, node):
                is_known = _waits_for_nothing(cluster, document) or _waits_for_deleted(
                    cluster, document
                )
                found.append(stuck(f"pod {key} on {node} does not run", is_known=is_known))
        elif phase == "Pending":
            kernel = kernel or await kernel_of(cluster)
            missing = await _missing_volumes(cluster, document)
            if missing is not None:
                found += _without_node(cluster, document, missing, kernel=kernel, refusals=refusals)
    return found


def _without_node(
    cluster: SimulatedCluster,
    pod: Document,
    missing: list[MissingVolumes],
    *,
    kernel: Kernel,
    refusals: Refusals,
) -> list[Unsettled]:
    """A pod that waits, although it could have a node."""
    judged, name = kernel.judge(from_document(Pod, pod)), pod["metadata"]["name"]
    if isinstance(judged, Rejected):
        if any(_fits(missing, node.name) for node in cluster.shape.nodes):
            return [stuck(f"pod {name} has no node, and its volumes could be made")]
        return []
    names = enumerate(kernel.columns.index.names)
    feasible = [node for slot, node in names if node and not judged.flags[slot]]
    if served := [node for node in feasible if _fits(missing, node)]:
        return [_waiting(cluster, pod, served[0], refusals)]
    if not feasible and _fits(missing, freed := _freed_by_others(kernel, pod)):
        return [stuck(f"pod {name} has no node, and less important pods could leave {freed}")]
    return []


def _freed_by_others(kernel: Kernel, document: Document) -> str:
    """The node that the pod could have by preemption; empty: none."""
    decision = kernel.decide(from_document(Pod, document))
    if not isinstance(decision, NoNode) or decision.rejected:
        return ""
    outcome = kernel.preempt(decision)
    return outcome.node if isinstance(outcome, Preemption) else ""


def _waits_for_deleted(cluster: SimulatedCluster, pod: Document) -> bool:
    deleted = deleted_behind_stock(cluster)
    claims = cluster.mirror.objects[CLAIMS]
    names = (f"{pod['metadata']['namespace']}/{name}" for name in claims_of(pod))
    return any(
        claim["spec"].get("volumeName") in deleted
        for name in names
        if (claim := claims.get(name)) is not None
    )


def _waits_for_nothing(cluster: SimulatedCluster, pod: Document) -> bool:
    """Whether a claim was deleted and made anew while its pod was put on a node.

    No scheduler looks at a pod that has a node, so none selects a node for the new claim. That is
    so in Kubernetes as well; the repair rule `direct-node` helps, and has to be asked for.
    """
    classes = {class_.name: class_ for class_ in cluster.shape.classes}
    for name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None or claim["spec"].get("volumeName"):
            continue
        class_ = classes.get(claim["spec"].get("storageClassName", ""))
        is_selected = SELECTED_NODE in (claim["metadata"].get("annotations") or {})
        if class_ is not None and not class_.is_immediate and not is_selected:
            return True
    return False


def _is_crowded_out(cluster: SimulatedCluster, node: str) -> bool:
    """Whether two schedulers together have put more volumes on a node than can be attached there:
    neither knew of what the other was about to do, and some pod has to wait."""
    if not cluster.second_scheduler.lives:
        return False
    limit = next(each.max_volumes for each in cluster.shape.nodes if each.name == node)
    attached: dict[str, set[str]] = {}
    for pod in cluster.mirror.objects[PODS].values():
        if pod["spec"].get("nodeName", "") != node:
            continue
        for name in claims_of(pod):
            claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
            volume = cluster.mirror.objects[VOLUMES].get(_volume_name(claim))
            if volume is not None and "csi" in volume["spec"]:
                attached.setdefault(volume["spec"]["csi"]["driver"], set()).add(
                    volume["metadata"]["name"]
                )
    return any(0 < limit < len(volumes) for volumes in attached.values())


def _volume_name(claim: Document | None) -> str:
    return "" if claim is None else claim["spec"].get("volumeName", "")


def _waiting(
    cluster: SimulatedCluster, pod: Document, served: str, refusals: Refusals
) -> Unsettled:
    """A pod that `served` could run."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    told = f"pod {namespace}/{name} has no node, and {served} would do"
    for claim_name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{namespace}/{claim_name}")
        uid = "" if claim is None else claim["metadata"]["uid"]
        for (refused, node), times in sorted(refusals.items()):
            if refused == uid and node != served and times >= FOR_EVER:
                message = f"{told}; {node} has refused claim {claim_name} {times} times"
                return Unsettled(invariant=Invariant.NOT_REFUSED_FOR_EVER, message=message)
    return stuck(told)


async def _missing_volumes(cluster: SimulatedCluster, pod: Document) -> list[MissingVolumes] | None:
    """By driver; None: a claim is missing or has lost its volume, or its class is missing."""
    classes = {class_.name: class_.driver for class_ in cluster.shape.classes}
    wanted: dict[str, int] = {}
    for name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None or claim["spec"].get("storageClassName", "") not in classes:
            return None
        if (claim.get("status") or {}).get("phase") == "Lost" or lacks_source(cluster, claim):
            return None
        driver = classes[claim["spec"]["storageClassName"]]
        if not claim["spec"].get("volumeName") and driver != NO_PROVISIONER:
            wanted[driver] = wanted.get(driver, 0) + requested_bytes(claim)
    return [
        MissingVolumes(wanted_bytes=size, free_bytes=await _free_bytes(cluster, driver))
        for driver, size in wanted.items()
    ]


async def _free_bytes(cluster: SimulatedCluster, driver: str) -> Mapping[str, int]:
    """By node."""
    if driver != IN_PROCESS:
        return await cluster.drivers[driver].free_bytes()
    return {node.name: cluster.cloud.free_bytes(node.zone) or 0 for node in cluster.shape.nodes}


def _fits(missing: list[MissingVolumes], node: str) -> bool:
    """Whether there is a node, and pools that it reaches could hold all of it."""
    return bool(node) and all(each.free_bytes.get(node, 0) >= each.wanted_bytes for each in missing)
