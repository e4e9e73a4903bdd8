"""The smallest change that would help a pod to a node, verified by deciding again with it made.

Tried are the groups of nodes where the least has to change. For each thing that speaks against such
a node there is at most one change; where there is none, the group is passed over. Nothing is
suggested that the scheduler's own decision does not confirm.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import Container, Pod, Toleration
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.api.volumes import (
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeNodeAffinity,
    VolumeSpec,
    VolumeStatus,
)
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.explain.amounts import amount
from plimsoll.decide.explain.groups import INSUFFICIENT, NodeGroup, SharedTrouble, Unit
from plimsoll.decide.explain.pod import PodExplanation, PodState
from plimsoll.decide.scheduling.kernel import Kernel, Placement
from plimsoll.decide.scheduling.reasons import Reason

TRIED_GROUPS = 3
HOSTNAME = "kubernetes.io/hostname"
CORDONED = "node.kubernetes.io/unschedulable"
CONDITIONS = "node.kubernetes.io/"
"""Taints that tell of the node's state begin like this."""
KEEPS_OFF = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Remedy:
    changes: tuple[str, ...]
    """All of them are needed."""
    node: str
    """Which the pod would then get."""


@dataclass(slots=True)
class Trial:
    """A fork of the cluster in which changes are made."""

    pod: Pod
    node: Node
    kernel: Kernel
    explained: PodExplanation


def find_remedy(explained: PodExplanation, kernel: Kernel) -> Remedy | None:
    """None: nothing that is known here would help."""
    if explained.state is not PodState.UNSCHEDULABLE or explained.everywhere:
        return None
    for group in explained.groups[:TRIED_GROUPS]:
        if remedy := _tried(group, explained, kernel):
            return remedy
    return None


def _tried(group: NodeGroup, explained: PodExplanation, kernel: Kernel) -> Remedy | None:
    fork = kernel.fork()
    node = fork.columns.node(group.nodes[0])
    if node is None:
        return None
    trial = Trial(explained.pod, node, fork, explained)
    changes = []
    for trouble in group.troubles:
        change = CHANGES.get(trouble.reason)
        told = change(trouble, trial) if change else None
        if told is None:
            return None
        changes += [told] if told else []
    decision = trial.kernel.decide(trial.pod)
    return Remedy(tuple(changes), decision.node) if isinstance(decision, Placement) else None


# One change for one reason; None: there is none; empty: an earlier change did it


def _smaller_claim(trouble: SharedTrouble, trial: Trial) -> str | None:
    claim = _claim(trouble, trial)
    if claim is None or not trouble.most or trouble.wanted is None:
        return None
    resources = msgspec.structs.replace(
        claim.spec.resources, requests={"storage": str(trouble.most)}
    )
    spec = msgspec.structs.replace(claim.spec, resources=resources)
    trial.kernel.columns.put(msgspec.structs.replace(claim, spec=spec))
    most, wanted = (amount(number, Unit.BYTES) for number in (trouble.most, trouble.wanted))
    return f"make claim {claim.name} anew with at most {most} instead of {wanted}"


def _forget_selected_node(trouble: SharedTrouble, trial: Trial) -> str | None:
    """Only where that node is gone: elsewhere the provisioner may be creating the volume."""
    claim = _claim(trouble, trial)
    gone = {t.claim for t in trial.explained.findings if t.reason is Reason.NODE_GONE}
    if claim is None or claim.key not in gone:
        return None
    kept = {key: value for key, value in claim.annotations.items() if key != SELECTED_NODE}
    metadata = msgspec.structs.replace(claim.metadata, annotations=kept)
    trial.kernel.columns.put(msgspec.structs.replace(claim, metadata=metadata))
    return f"take the annotation {SELECTED_NODE} off claim {claim.name}"


def _a_volume(trouble: SharedTrouble, trial: Trial) -> str | None:
    claim, name = _claim(trouble, trial), trial.node.name
    if claim is None or HOSTNAME not in trial.node.labels or claim.spec.selector is not None:
        return None
    place = NodeRequirementSpec(key=HOSTNAME, operator="In", values=(trial.node.labels[HOSTNAME],))
    terms = NodeSelectorSpec(node_selector_terms=(NodeTermSpec(match_expressions=(place,)),))
    spec = VolumeSpec(
        capacity={"storage": claim.spec.resources.requests.get("storage", "0")},
        access_modes=claim.spec.access_modes,
        volume_mode=claim.spec.volume_mode,
        storage_class_name=claim.storage_class,
        node_affinity=VolumeNodeAffinity(required=terms),
    )
    metadata = ObjectMeta(name=f"remedy-{claim.uid}", uid=f"remedy-{claim.uid}")
    status = VolumeStatus(phase="Available")
    trial.kernel.columns.put(PersistentVolume(metadata=metadata, spec=spec, status=status))
    size = amount(claim.spec.requested_bytes, Unit.BYTES)
    return f"add a volume of class {claim.storage_class} with {size} that node {name} can reach"


def _toleration(_: SharedTrouble, trial: Trial) -> str | None:
    taints = [
        taint
        for taint in trial.node.spec.taints
        if taint.effect in KEEPS_OFF
        and not any(each.tolerates(taint) for each in trial.pod.spec.tolerations)
    ]
    if any(taint.key.startswith(CONDITIONS) for taint in taints):
        return None  # a node that is not ready or short of something is no place to go
    added = [Toleration(key=t.key, operator="Exists", effect=t.effect) for t in taints]
    trial.pod = _with_spec(trial.pod, tolerations=(*trial.pod.spec.tolerations, *added))
    named = ", ".join(f"{taint.key}:{taint.effect}" for taint in taints)
    return f"let the pod tolerate {named}" if taints else ""


def _uncordon(_: SharedTrouble, trial: Trial) -> str | None:
    spec = trial.node.spec
    taints = tuple(taint for taint in spec.taints if taint.key != CORDONED)
    open_again = msgspec.structs.replace(spec, unschedulable=False, taints=taints)
    trial.node = msgspec.structs.replace(trial.node, spec=open_again)
    trial.kernel.columns.put(trial.node)
    return f"uncordon node {trial.node.name}"


def _label(_: SharedTrouble, trial: Trial) -> str | None:
    labels = trial.node.labels
    missing = {k: v for k, v in trial.pod.spec.node_selector.items() if labels.get(k) != v}
    if not missing or trial.pod.spec.required_nodes is not None or HOSTNAME in missing:
        return None
    metadata = msgspec.structs.replace(trial.node.metadata, labels={**labels, **missing})
    trial.node = msgspec.structs.replace(trial.node, metadata=metadata)
    trial.kernel.columns.put(trial.node)
    named = ", ".join(f"{key}={value}" for key, value in missing.items())
    return f"label node {trial.node.name} with {named}, or take that off the pod's node selector"


def _smaller_request(trouble: SharedTrouble, trial: Trial) -> str | None:
    """Of a pod with one container: of several, who asks for less is the user's choice."""
    containers = trial.pod.spec.containers
    if len(containers) != 1 or trial.pod.spec.init_containers or not trouble.most:
        return None
    resource = trouble.sentence.removeprefix(INSUFFICIENT)
    milli = "m" if trouble.unit is Unit.MILLI_CPU else ""
    smaller = _requesting(containers[0], {resource: f"{trouble.most}{milli}"})
    trial.pod = _with_spec(trial.pod, containers=(smaller,))
    most, wanted = (amount(n, trouble.unit) for n in (trouble.most, trouble.wanted or 0))
    return f"request at most {most} of {resource} instead of {wanted}"


def _requesting(container: Container, changed: Mapping[str, str]) -> Container:
    requests = {**container.resources.requests, **changed}
    resources = msgspec.structs.replace(container.resources, requests=requests)
    return msgspec.structs.replace(container, resources=resources)


def _with_spec(pod: Pod, **changed: object) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **changed))


def _claim(trouble: SharedTrouble, trial: Trial) -> PersistentVolumeClaim | None:
    return trial.kernel.columns.claim(trouble.claim) if trouble.claim else None


Change = Callable[[SharedTrouble, Trial], str | None]

CHANGES: Mapping[Reason, Change] = {
    Reason.CAPACITY_TOO_SMALL: _smaller_claim,
    Reason.SELECTED_ELSEWHERE: _forget_selected_node,
    Reason.NO_MATCHING_VOLUME: _a_volume,
    Reason.UNTOLERATED_TAINT: _toleration,
    Reason.NODE_UNSCHEDULABLE: _uncordon,
    Reason.NODE_AFFINITY_MISMATCH: _label,
    Reason.INSUFFICIENT_RESOURCE: _smaller_request,
}
