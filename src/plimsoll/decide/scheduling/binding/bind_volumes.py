"""From the choice of a node to volumes that are bound: assume, write, wait.

First the choice is assumed, so that no other pod is given the same volumes. Then it is written:
each volume names its claim, then each claim to be provisioned for names the node. From there the
controller and provisioners do the rest, and the pod waits until every claim is bound, or until it
is clear that this will not happen here. What was written stays written: the next attempt finds it.
By the default policy volumes are the exception: where one of several goes to another claim, those
that name their claims already are released again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import msgspec

from plimsoll.api.meta import ApiObject, ObjectKey, ObjectReference
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import BOUND_BY_CONTROLLER, SELECTED_NODE, YES
from plimsoll.decide.claims.match import is_kept_for
from plimsoll.decide.claims.writes import (
    VolumePhase,
    bind_volume,
    patch_of,
    reference_to,
    unbind_volume,
)
from plimsoll.decide.plan import Patch, Write
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.resources import CLAIMS, VOLUMES
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject
from plimsoll.decide.scheduling.rules.volume_binding.claims import are_all_bound
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import (
    PodVolumes,
    StaticBinding,
)

T = TypeVar("T", bound=ApiObject)
T_co = TypeVar("T_co", bound=ApiObject, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was decided about a pod's volumes, and how far it has come."""

    node: str
    static: tuple[StaticBinding, ...] = ()
    """The volumes name their claims: at first as assumed, then as the server returned them."""
    provisions: tuple[PersistentVolumeClaim, ...] = ()
    """Claims that name the node, as assumed."""
    awaited: tuple[PersistentVolumeClaim, ...] = ()
    """The same as the server returned them."""
    writes: tuple[Patch, ...] = ()
    """To be made in this order, each on the version that was decided on."""


@dataclass(frozen=True, slots=True)
class AllBound:
    """Nothing is left to be done for the pod's volumes."""


class ObjectsByKey(Protocol[T_co]):
    """The objects of one kind at one moment."""

    def get(self, key: ObjectKey) -> T_co | None: ...


class AssumingCache(Protocol[T]):
    """The objects of one kind, where our own writes are believed before the watch shows them."""

    def snapshot(self) -> ObjectsByKey[T]:
        """What is believed."""
        ...

    def observed(self) -> ObjectsByKey[T]:
        """What the watch has shown."""
        ...

    def assume_version(self, object_: T) -> bool:
        """Believe in the object. False: it was not made of the newest version."""
        ...

    def restore(self, object_: T) -> None:
        """No longer believe in the object; what was assumed of another version stays."""
        ...


class Assumptions(Protocol):
    """What a process believes of claims and volumes."""

    @property
    def volumes(self) -> AssumingCache[PersistentVolume]: ...

    @property
    def claims(self) -> AssumingCache[PersistentVolumeClaim]: ...


def assume(
    pod: Pod, volumes: PodVolumes, node: str, assumptions: Assumptions
) -> Choice | AllBound | Finding:
    """Believe in the choice from now on. A finding: something changed since the node was judged,
    and nothing is assumed."""
    if are_all_bound(pod, assumptions.claims.snapshot().get):
        return AllBound()
    choice = choose(volumes, node)
    for done, (before, binding) in enumerate(zip(volumes.static, choice.static, strict=True)):
        if binding.volume is before.volume:
            continue
        if complaint := _assume(assumptions.volumes, binding.volume, VOLUMES.plural):
            forget(replace(choice, static=choice.static[:done], provisions=()), assumptions)
            about = SeenObject("PersistentVolume", binding.volume.key)
            return Finding(reason=Reason.CHANGED_MEANWHILE, sentence=complaint, about=about)
    for done, claim in enumerate(choice.provisions):
        if complaint := _assume(assumptions.claims, claim, CLAIMS.plural):
            forget(replace(choice, provisions=choice.provisions[:done]), assumptions)
            return Finding(reason=Reason.CHANGED_MEANWHILE, sentence=complaint, claim=claim.key)
    return choice


def _assume(cache: AssumingCache[T], object_: T, plural: str) -> str:
    """Why the object cannot be assumed, in kube-scheduler's words; empty: it is."""
    if cache.assume_version(object_):
        return ""
    newest = cache.observed().get(object_.key)
    if newest is None:
        return f'{plural} "{object_.key}" not found'
    stored, assumed = newest.metadata.resource_version, object_.metadata.resource_version
    return f'"{object_.key}" is out of sync (stored: {stored}, assume: {assumed})'


def choose(volumes: PodVolumes, node: str) -> Choice:
    static = tuple(
        replace(binding, volume=naming_claim(binding.volume, binding.claim))
        for binding in volumes.static
    )
    claims = [provision.claim for provision in volumes.provisions]
    return Choice(
        node=node,
        static=static,
        provisions=tuple(naming_node(claim, node) for claim in claims),
        writes=(
            *(_volume_write(binding) for binding in volumes.static),
            *(_claim_write(claim, node) for claim in claims),
        ),
    )


def claims_of(choice: Choice, claims: Collection[ObjectKey]) -> Choice:
    """What the choice says about these claims, which get new volumes."""
    writes = choice.writes[len(choice.static) :]
    kept = [
        (claim, write)
        for claim, write in zip(choice.provisions, writes, strict=True)
        if claim.key in claims
    ]
    return replace(
        choice,
        static=(),
        provisions=tuple(claim for claim, _ in kept),
        writes=tuple(write for _, write in kept),
    )


def volumes_of(choice: Choice) -> Choice:
    """What the choice says about volumes that exist."""
    return replace(choice, provisions=(), writes=choice.writes[: len(choice.static)])


def written(choice: Choice, returned: Sequence[PersistentVolume | PersistentVolumeClaim]) -> Choice:
    """After the first so many writes went through, with what the server returned for each."""
    volumes = {each.name: each for each in returned if isinstance(each, PersistentVolume)}
    return replace(
        choice,
        static=tuple(
            replace(binding, volume=volumes.get(binding.volume.name, binding.volume))
            for binding in choice.static
        ),
        awaited=tuple(each for each in returned if isinstance(each, PersistentVolumeClaim)),
    )


def forget(choice: Choice, assumptions: Assumptions) -> None:
    """The pod will not go there. Volumes that were written already stay as they are: the watch
    will show them. Claims do not, as in kube-scheduler."""
    for binding in choice.static:
        assumptions.volumes.restore(binding.volume)
    for claim in choice.provisions:
        assumptions.claims.restore(claim)


def unwritten(choice: Choice) -> Choice:
    """Without the claims that were written: these are believed until the watch shows them. A
    provisioner may act upon a claim that names a node, though the pod is gone."""
    left = tuple(claim for claim in choice.provisions if not _is_written(claim, choice))
    return replace(choice, provisions=left)


def _is_written(claim: PersistentVolumeClaim, choice: Choice) -> bool:
    """The server has answered with another version, which the watch will show."""
    version = claim.metadata.resource_version
    return any(
        each.key == claim.key and each.metadata.resource_version != version
        for each in choice.awaited
    )


def forget_unwritten(choice: Choice, assumptions: Assumptions, made: int) -> None:
    """A write failed after so many were made: only what did not land is no longer believed."""
    volumes = len(choice.static)
    rest = replace(
        choice, static=choice.static[made:], provisions=choice.provisions[max(0, made - volumes) :]
    )
    forget(rest, assumptions)


def releases(choice: Choice, returned: Sequence[PersistentVolume]) -> tuple[Write, ...]:
    """Take the claims off volumes again that were written for the choice, of which another volume
    went to another claim: the pod will look for a node that has all of them.

    Each on the version that the server returned. A controller that binds claim and volume writes
    the phase of the volume first, on the version that it has seen: either that fails, and the claim
    stays free, or this does, and the pair is bound. The last one written goes first.
    """
    claims = {binding.volume.name: binding.claim for binding in choice.static}
    return tuple(
        unbind_volume(volume)[0]
        for volume in reversed(returned)
        if volume.status.phase != VolumePhase.BOUND
        and (claim := claims.get(volume.name)) is not None
        and not claim.spec.volume_name
    )


def naming_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume as it will be; the very same object if it needs no change."""
    reference = volume.spec.claim_ref
    if reference is None or (reference.key, reference.uid) != (claim.key, claim.uid):
        reference = msgspec.convert(reference_to(claim), ObjectReference)
    annotations = volume.annotations
    if not is_kept_for(volume, claim.key, claim.uid) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: YES}
    if reference is volume.spec.claim_ref and annotations is volume.annotations:
        return volume
    return msgspec.structs.replace(
        volume,
        spec=msgspec.structs.replace(volume.spec, claim_ref=reference),
        metadata=msgspec.structs.replace(volume.metadata, annotations=annotations),
    )


def naming_node(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    annotations = {**claim.annotations, SELECTED_NODE: node}
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata)


def _volume_write(binding: StaticBinding) -> Patch:
    """Made even if it changes nothing: it fails if the volume is not what was decided on."""
    return bind_volume(binding.volume, binding.claim) or patch_of(binding.volume, {})


def _claim_write(claim: PersistentVolumeClaim, node: str) -> Patch:
    """A hold that was left on it would keep its volume from being recorded for ever."""
    left = {HOLD: None} if HOLD in claim.annotations else {}
    return patch_of(claim, {"metadata": {"annotations": {SELECTED_NODE: node, **left}}})
