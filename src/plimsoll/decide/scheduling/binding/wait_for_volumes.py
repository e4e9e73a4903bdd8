"""Whether the volumes of a pod are bound, or the scheduler waits for them, or it gives up and tries
the pod again.

Asked whenever something changes that has to do with the pod, and answered from what the watch has
shown: assumptions would only confirm themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.node import NO_TERM_MATCHES, NodeSelector
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.csi.in_tree import seen_from_node
from plimsoll.decide.scheduling.binding.bind_volumes import AllBound, Choice
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject, seen_volume
from plimsoll.decide.scheduling.rules.volume_binding.claims import (
    ClaimView,
    find_objection,
    is_fully_bound,
)
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import StaticBinding


class ObservedView(Protocol):
    """What the watch has shown of the few objects that a binding waits for."""

    def node(self, name: str) -> Node | None: ...

    def pod(self, key: ObjectKey) -> Pod | None: ...

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None: ...

    def volume(self, name: str) -> PersistentVolume | None: ...

    def csi_node(self, node: str) -> CSINode | None: ...


@dataclass(frozen=True, slots=True)
class Bound:
    """All volumes are there; the pod can be bound to its node."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not yet: something has to happen to this claim or volume first."""

    claim: ObjectKey


@dataclass(frozen=True, slots=True)
class GivenUp:
    """It will not happen on this node; the pod is to be scheduled anew."""

    finding: Finding

    @property
    def sentence(self) -> str:
        return f"binding volumes: {self.finding.sentence}"


Progress = Bound | Waiting | GivenUp

TIMED_OUT = GivenUp(Finding(reason=Reason.BINDING_TIMED_OUT, sentence="context deadline exceeded"))


def check_bindings(pod: ObjectKey, choice: Choice, observed: ObservedView) -> Progress:
    """`choice` with everything written: see `bind_volumes.written`."""
    node = observed.node(choice.node)
    if node is None:
        sentence = f'failed to get node "{choice.node}": node "{choice.node}" not found'
        about = SeenObject("Node", ObjectKey("", choice.node))
        return GivenUp(Finding(reason=Reason.NODE_NOT_FOUND, sentence=sentence, about=about))
    if observed.pod(pod) is None:
        sentence = f'pod does not exist any more: pod "{pod.name}" not found'
        return GivenUp(Finding(reason=Reason.POD_NOT_FOUND, sentence=sentence))
    for binding in choice.static:
        progress = _check_static(binding, node, observed)
        if not isinstance(progress, Bound):
            return progress
    for claim in choice.awaited:
        progress = _check_provision(claim, node, observed)
        if not isinstance(progress, Bound):
            return progress
    return Bound()


def check_claims(pod: Pod, claims: ClaimView) -> GivenUp | None:
    """Right before the pod gets its node: whether a claim is gone, or being deleted, by now. No
    node starts such a pod, and once it is on a node, a claim that is being deleted stays. None: the
    claims can be used. kube-scheduler does not look again."""
    for volume in pod.spec.volumes:
        if finding := find_objection(pod, volume, claims):
            return GivenUp(finding)
    return None


def claims_bound_before(pod: Pod, choice: Choice | AllBound) -> tuple[ObjectKey, ...]:
    """Claims that the attempt neither wrote nor waited for: of those the watch may be behind."""
    if isinstance(choice, AllBound):
        return pod.claims
    static = (binding.claim.key for binding in choice.static)
    awaited = {*static, *(claim.key for claim in choice.provisions)}
    return tuple(key for key in pod.claims if key not in awaited)


@dataclass(frozen=True, slots=True)
class StoredClaims:
    """Some claims as the server has them, the others as the watch has shown them."""

    stored: Mapping[ObjectKey, PersistentVolumeClaim | None]
    observed: ObservedView

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self.stored[key] if key in self.stored else self.observed.claim(key)


def check_stored(pod: Pod, claims: StoredClaims) -> GivenUp | None:
    """The same by what the server has: also whether a claim was made anew, or has another volume
    than the one that the node was judged by."""
    if late := check_claims(pod, claims):
        return late
    for key, stored in claims.stored.items():
        if _identity(stored) != _identity(claims.observed.claim(key)):
            sentence = f'PVC "{key.name}" was made anew, or has another volume'
            finding = Finding(reason=Reason.CHANGED_MEANWHILE, sentence=sentence, claim=key)
            return GivenUp(finding)
    return None


def _identity(claim: PersistentVolumeClaim | None) -> tuple[str, str] | None:
    return None if claim is None else (claim.uid, claim.spec.volume_name)


def _check_static(binding: StaticBinding, node: Node, observed: ObservedView) -> Progress:
    key = binding.claim.key
    name = binding.volume.name
    volume = observed.volume(name)
    if volume is None:
        sentence = f'failed to check binding: persistentvolumes "{name}" not found'
        return _volume_gone(key, name, Reason.VOLUME_NOT_FOUND, sentence)
    claim = observed.claim(key)
    if claim is None:
        sentence = f'failed to check binding: persistentvolumeclaims "{key}" not found'
        return GivenUp(Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=sentence, claim=key))
    if is_older(volume, binding.volume):
        return Waiting(key)
    if finding := find_conflict(key, volume, node, observed):
        return GivenUp(_of_static(finding))
    if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        sentence = f'ClaimRef got reset for pv "{name}"'
        return _volume_gone(key, name, Reason.CHANGED_MEANWHILE, sentence)
    if claim.spec.volume_name not in ("", name):
        # Another scheduler has chosen that one, for another node perhaps.
        return _check_volume(claim, node, observed)
    return Bound() if is_fully_bound(claim) else Waiting(key)


def _check_provision(
    awaited: PersistentVolumeClaim, node: Node, observed: ObservedView
) -> Progress:
    key = awaited.key
    claim = observed.claim(key)
    if claim is None:
        sentence = f'failed to check provisioning pvc: persistentvolumeclaims "{key}" not found'
        return GivenUp(Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=sentence, claim=key))
    if is_older(claim, awaited):
        return Waiting(key)
    if claim.annotations.get(SELECTED_NODE) != node.name:
        # Taking the node out of the claim is how a provisioner asks for another one.
        sentence = (
            f'provisioning failed for PVC "{key.name}"'
            if claim.annotations
            else f'selectedNode annotation reset for PVC "{key.name}"'
        )
        return GivenUp(Finding(reason=Reason.PROVISIONER_REFUSED, sentence=sentence, claim=key))
    return _check_volume(claim, node, observed) if claim.spec.volume_name else Waiting(key)


def _check_volume(claim: PersistentVolumeClaim, node: Node, observed: ObservedView) -> Progress:
    """The one that the claim names."""
    volume = observed.volume(claim.spec.volume_name)
    if volume is None:
        # It will be seen soon, or the claim be unbound again.
        return Waiting(claim.key)
    if finding := find_conflict(claim.key, volume, node, observed):
        return GivenUp(finding)
    return Bound() if is_fully_bound(claim) else Waiting(claim.key)


def _volume_gone(claim: ObjectKey, volume: str, reason: Reason, sentence: str) -> GivenUp:
    about = seen_volume(volume)
    return GivenUp(Finding(reason=reason, sentence=sentence, claim=claim, about=about))


def find_conflict(
    claim: ObjectKey, volume: PersistentVolume, node: Node, observed: ObservedView
) -> Finding | None:
    """Whether the node lost its labels, or the volume is elsewhere."""
    about = seen_volume(volume.name)
    try:
        required = seen_from_node(volume, observed.csi_node(node.name)).spec.required_nodes
    except ValueError as error:
        reason = Reason.VOLUME_NOT_TRANSLATABLE
        sentence = f"could not translate pv: {error}"
        return Finding(reason=reason, sentence=sentence, claim=claim, about=about)
    if required is None:
        return None
    selector = NodeSelector.of(required)
    if selector.matches(node.labels):
        return None
    why = selector.complaint or NO_TERM_MATCHES
    sentence = f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": {why}'
    reason = Reason.VOLUME_AFFINITY_CONFLICT
    return Finding(reason=reason, sentence=sentence, claim=claim, about=about)


def _of_static(finding: Finding) -> Finding:
    """kube-scheduler says of existing volumes what it wanted to do with them."""
    if finding.reason is not Reason.VOLUME_NOT_TRANSLATABLE:
        return finding
    return replace(finding, sentence=f"failed to translate pv to csi: {finding.sentence}")


def is_older(observed: ApiObject, written: ApiObject) -> bool:
    return _version(observed) < _version(written)


def _version(object_: ApiObject) -> int:
    return int(object_.metadata.resource_version or "0")
