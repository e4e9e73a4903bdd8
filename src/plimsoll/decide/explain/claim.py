"""What a claim is waiting for: a pod, a node for its pod, a volume, or a provisioner; and what is
seen to go wrong with that."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.match import Mismatch, Search, is_reachable, mismatches
from plimsoll.decide.explain.causes import causes_first
from plimsoll.decide.explain.claim_state import ClaimProgress, ClaimState, claim_progress
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.groups import NodeGroup, NodeTrouble, SharedTrouble, shared
from plimsoll.decide.explain.held_back import GroupStory, find_story_of_claim, tell_hold
from plimsoll.decide.explain.pod import PodExplanation, explain_pod
from plimsoll.decide.explain.provisioning import provisioning_troubles
from plimsoll.decide.preferred_topology import told_locality
from plimsoll.decide.provisioning.holds import HOLD, hold_of
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.reasons import (
    Finding,
    Reason,
    Rule,
    Sentence,
    seen_class,
    seen_volume,
)
from plimsoll.decide.scheduling.rules.volume_binding.claims import is_fully_bound
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import NO_PROVISIONER


@dataclass(frozen=True, slots=True)
class Unsuited:
    """Volumes of the claim's class that it cannot have for this reason; a volume can have several
    reasons against it."""

    mismatch: Mismatch
    volumes: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimExplanation:
    claim: ClaimProgress
    message: str
    troubles: tuple[SharedTrouble, ...] = ()
    """The cause first."""
    volumes: int = 0
    """How many of its class there are."""
    unsuited: tuple[Unsuited, ...] = ()
    reachable_from: int | None = None
    """From how many nodes its volume can be reached; None: it has none."""
    pods: tuple[PodExplanation, ...] = ()
    """Pods without a node that use it, with the troubles that the claim makes them."""
    held_back: GroupStory | None = None
    """The group that holds it; None: none does, or nothing tells."""

    @property
    def is_well(self) -> bool:
        """It is bound, or on its way without anything that is seen to go wrong."""
        return not self.troubles and all(pod.is_well for pod in self.pods)

    @property
    def cause(self) -> SharedTrouble | None:
        """What to mend first; None: nothing is wrong."""
        of_pods = [pod.cause for pod in self.pods]
        found = causes_first((*self.troubles, *(cause for cause in of_pods if cause)))
        return found[0] if found else None


def explain_claim(
    key: ObjectKey,
    pods: Iterable[Pod],
    kernel: Kernel,
    evidence: Evidence | None = None,
    *,
    kernel_of: Callable[[Pod], Kernel] | None = None,
) -> ClaimExplanation:
    """`pods` are those that use it; `kernel_of` gives each the rules of its own scheduler."""
    columns = kernel.columns
    progress = claim_progress(key, columns)
    claim = columns.claim(key)
    if claim is None:
        message = f"There is no claim {key}."
        troubles = _troubles(Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=message, claim=key))
        return ClaimExplanation(claim=progress, message=message, troubles=troubles)
    using = [*pods]
    waiting = _waiting(progress, using)
    story = find_story_of_claim(claim, using, columns, evidence) if evidence else None
    judging = kernel_of or (lambda _: kernel)
    explained = tuple(_about(explain_pod(pod, judging(pod), evidence), key) for pod in waiting)
    seen = provisioning_troubles(claim, columns, evidence) if evidence else ()
    found = ClaimExplanation(
        claim=progress,
        message=_held(claim, story, evidence) or _message(progress, claim, kernel, waiting),
        troubles=causes_first((*_troubles(*_findings(progress, claim, kernel)), *seen)),
        pods=explained,
        held_back=story,
    )
    if progress.state is ClaimState.BOUND:
        return replace(found, reachable_from=_reach(progress.volume, kernel))
    volumes = columns.volumes_of_class(claim.storage_class)
    return replace(found, volumes=len(volumes), unsuited=_unsuited(claim, kernel))


def _waiting(progress: ClaimProgress, pods: Iterable[Pod]) -> list[Pod]:
    """Pods without a node, and those that were put on one while the claim waits for the scheduler:
    a scheduler gives a pod its node after it has seen to the claim."""
    is_passed_by = progress.state is ClaimState.WAITS_FOR_NODE
    return [pod for pod in pods if not pod.spec.node_name or (is_passed_by and not pod.is_finished)]


def _held(claim: PersistentVolumeClaim, story: GroupStory | None, evidence: Evidence | None) -> str:
    """What a claim waits for whose volume is held back; empty: it is not."""
    if is_fully_bound(claim) or claim.is_being_deleted:
        return ""
    if story is not None and (held := story.find(claim.key)):
        return tell_hold(story, held)
    hold = hold_of(claim)
    if hold is None or evidence is None:
        return ""
    told = f"Held for the pod of uid {hold.pod_uid} (attempt {hold.attempt})"
    if evidence.leases is None:
        return f"{told}; what it waits for is not known, since leases may not be listed."
    return (
        f"{told}, but no group is known that holds it. While annotation {HOLD} is there, a "
        "provisioner of Plimsoll records no volume; the scheduler takes it off within minutes, "
        "unless the pod waits for another scheduler, or take it off by hand."
    )


def _message(
    progress: ClaimProgress, claim: PersistentVolumeClaim, kernel: Kernel, pods: Sequence[Pod]
) -> str:
    placed = next((pod for pod in pods if pod.spec.node_name), None)
    match progress.state:
        case ClaimState.BOUND:
            volume = kernel.columns.volume(progress.volume)
            told = told_locality(volume.annotations) if volume else ""
            return f"Bound to volume {progress.volume}. {told}".rstrip()
        case ClaimState.LOST:
            return f"Its volume {progress.volume} is gone, and the data with it."
        case ClaimState.DELETING:
            return "It is being deleted."
        case ClaimState.SELECTED:
            return f"Node {progress.selected_node} is selected; waits for {_maker(claim, kernel)}."
        case ClaimState.WAITS_FOR_NODE if placed:
            node = placed.spec.node_name
            return (
                f"No node is selected for its volume: pod {placed.name} was put on node {node} "
                "without the scheduler. Make the pod without spec.nodeName, or let the repair "
                f"rule direct-node select node {node}."
            )
        case ClaimState.WAITS_FOR_NODE if pods:
            return "Waits for its pod to get a node."
        case ClaimState.WAITS_FOR_NODE:
            return "Waits for the first pod that uses it."
        case _:
            return f"Waits for {_maker(claim, kernel)}."


def _maker(claim: PersistentVolumeClaim, kernel: Kernel) -> str:
    storage_class = kernel.columns.storage_class(claim.storage_class)
    provisioner = storage_class.provisioner if storage_class else ""
    if provisioner in ("", NO_PROVISIONER):
        return "a volume that suits it"
    return f"a volume that suits it, or one made by {provisioner}"


def _findings(
    progress: ClaimProgress, claim: PersistentVolumeClaim, kernel: Kernel
) -> Iterable[Finding]:
    key, name = progress.key, claim.storage_class
    if progress.state is ClaimState.LOST:
        sentence = f"volume {progress.volume} does not exist"
        about = seen_volume(progress.volume)
        yield Finding(reason=Reason.CLAIM_LOST, sentence=sentence, claim=key, about=about)
    if progress.state is ClaimState.DELETING:
        yield Finding(reason=Reason.CLAIM_DELETING, sentence="it is being deleted", claim=key)
    if progress.state is not ClaimState.WAITS_FOR_VOLUME:
        return
    if name and kernel.columns.storage_class(name) is None:
        sentence = f"class {name} does not exist"
        about = seen_class(name)
        yield Finding(reason=Reason.CLASS_NOT_FOUND, sentence=sentence, claim=key, about=about)
    yield Finding(
        reason=Reason.UNBOUND_IMMEDIATE_CLAIM,
        sentence=Sentence.IMMEDIATE,
        claim=key,
        wanted=progress.requested_bytes,
    )


def _troubles(*findings: Finding) -> tuple[SharedTrouble, ...]:
    return tuple(shared([NodeTrouble(rule=Rule.VOLUME_BINDING, finding=each)]) for each in findings)


def _reach(volume: str, kernel: Kernel) -> int | None:
    found = kernel.columns.volume(volume)
    if found is None:
        return None
    return sum(is_reachable(found, node.labels) for node in kernel.columns.all_nodes())


def _unsuited(claim: PersistentVolumeClaim, kernel: Kernel) -> tuple[Unsuited, ...]:
    """What speaks against the volumes there are, whatever node is chosen."""
    try:
        search = Search.of(claim)
    except ValueError:
        return ()
    counts: Counter[Mismatch] = Counter()
    examples: dict[Mismatch, str] = {}
    for volume in kernel.columns.volumes_of_class(claim.storage_class):
        for mismatch in mismatches(search, volume):
            counts[mismatch] += 1
            examples.setdefault(mismatch, volume.name)
    return tuple(
        Unsuited(mismatch, number, examples[mismatch])
        for mismatch, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _about(explanation: PodExplanation, claim: ObjectKey) -> PodExplanation:
    """Only what has to do with the claim."""
    groups = tuple(
        NodeGroup(group.nodes, troubles)
        for group in explanation.groups
        if (troubles := _of_claim(group.troubles, claim))
    )
    everywhere = _of_claim(explanation.everywhere, claim)
    # What was seen to go wrong with the claim is told of the claim itself, once.
    findings = tuple(t for t in explanation.findings if t.claim is None)
    return replace(explanation, groups=groups, everywhere=everywhere, findings=findings)


def _of_claim(troubles: Iterable[SharedTrouble], claim: ObjectKey) -> tuple[SharedTrouble, ...]:
    return tuple(trouble for trouble in troubles if trouble.claim == claim)
