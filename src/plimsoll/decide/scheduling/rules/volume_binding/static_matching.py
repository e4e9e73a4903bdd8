"""Which existing volumes delay-bound claims get on a node.

The smallest claim comes first and takes the smallest volume that suits. That is greedy, as
kube-scheduler is: where a claim takes the volume that only another could have used, the other gets
none. By the default policy the columns then look for a better assignment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from plimsoll.api.core import Node
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import Mismatch, Search, find_match, mismatches, size_of
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import volume_terms
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import Finding, Reason, Undecided, failed, seen_volume
from plimsoll.decide.scheduling.rules.volume_binding.assignment import Option, assign
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import (
    DelayedClaim,
    DelayedClaims,
    naming_a_node,
)
from plimsoll.decide.scheduling.rules.volume_binding.joint_fit import JointFitColumns
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import (
    DynamicProvision,
    ProvisioningColumns,
)
from plimsoll.decide.scheduling.view import ClusterView


@dataclass(frozen=True, slots=True)
class StaticBinding:
    """An existing volume is to be bound to the claim."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What is to be done for a pod's delay-bound claims if it goes to some node."""

    static: tuple[StaticBinding, ...] = ()
    provisions: tuple[DynamicProvision, ...] = ()


class Matches(NamedTuple):
    """What a pod's claims get of the volumes that exist."""

    static: tuple[StaticBinding, ...]
    unmatched: tuple[PersistentVolumeClaim, ...]


def match(
    claims: Iterable[PersistentVolumeClaim], node: Node, view: ClusterView, *, knows: bool
) -> Matches:
    static: dict[str, StaticBinding] = {}
    unmatched: list[PersistentVolumeClaim] = []
    for claim in sorted(claims, key=lambda claim: size_of(claim.spec.resources.requests)):
        search = _search(claim, node, static.keys(), knows=knows)
        volume = find_match(search, view.volumes_of_class(claim.storage_class))
        if volume is None:
            unmatched.append(claim)
        else:
            static[volume.name] = StaticBinding(claim, volume)
    return Matches(tuple(static.values()), tuple(unmatched))


def with_candidate(
    finding: Finding, claim: PersistentVolumeClaim, node: Node, view: ClusterView
) -> Finding:
    """Where no volume was large enough, the largest that would have suited otherwise."""
    if finding.reason is not Reason.NO_MATCHING_VOLUME:
        return finding
    search = _search(claim, node, (), knows=True)
    candidates = [
        (size_of(volume.spec.capacity).value, volume.name)
        for volume in view.volumes_of_class(claim.storage_class)
        if mismatches(search, volume) == {Mismatch.TOO_SMALL}
    ]
    if not candidates:
        return finding
    seen, name = max(candidates)
    return replace(finding, seen=seen, about=seen_volume(name))


def _search(
    claim: PersistentVolumeClaim, node: Node, chosen: Iterable[str], *, knows: bool
) -> Search:
    try:
        return Search.of(
            claim,
            node_labels=node.labels,
            excluded=frozenset(chosen),
            knows_attributes_classes=knows,
        )
    except ValueError as error:
        finding = Finding(reason=Reason.CLAIM_IS_INVALID, sentence=str(error), claim=claim.key)
        raise Undecided(failed(finding)) from error


# All nodes at once


class ProvisioningRules(NamedTuple):
    """The rules about volumes that are to be provisioned."""

    provisioning: ProvisioningColumns
    joint_fit: JointFitColumns

    def do_fit(self, delayed: Sequence[DelayedClaim], slot: int) -> bool:
        """Together, on a node where each of them is possible."""
        wanted = {each.claim.key: each.request for each in delayed}
        tracked = filter(self.provisioning.is_tracked, wanted.values())
        return self.joint_fit.do_fit_at(tracked, slot, naming_a_node(delayed))


class StaticMatching:
    """What claims get on one node, read from the columns."""

    def __init__(self, columns: Columns, new_volumes: ProvisioningRules, policy: Policy) -> None:
        self._columns = columns
        self._new = new_volumes
        self._provisioning = new_volumes.provisioning
        self._policy = policy

    def bind(self, claims: DelayedClaims, slot: int) -> PodVolumes:
        """What is to be done for the claims on a node that passed."""
        chosen = self._choose(claims.free, slot)
        volumes = self._volumes(claims, chosen, slot)
        if self._policy is Policy.COMPATIBLE or not _are_rivals(claims.free, chosen):
            return volumes
        better = self.assigned(claims, slot)
        if better is None:
            return volumes
        wanted = _provisioned(claims, volumes)
        is_possible = all(
            self._provisioning.is_possible(delayed.request, slot) for delayed in wanted
        )
        is_possible = is_possible and self._new.do_fit(wanted, slot)
        return better if not is_possible or len(better.static) > len(volumes.static) else volumes

    def reach(self, volume: PersistentVolume) -> int:
        return self._columns.labels.matching(volume_terms(volume.spec.required_nodes))

    def _choose(self, free: Sequence[DelayedClaim], slot: int) -> list[PersistentVolume | None]:
        by_class = self._columns.volumes.by_class
        found: dict[int, PersistentVolume | None] = {}
        for number, delayed in enumerate(free):
            is_reached = delayed.kept is not None and self.reach(delayed.kept) >> slot & 1
            found[number] = delayed.kept if is_reached else None
        rest = [
            n for n, each in enumerate(free) if each.want and each.request.class_name in by_class
        ]
        for name in dict.fromkeys([free[number].request.class_name for number in rest]):
            numbers = [n for n in rest if free[n].request.class_name == name]
            wants = tuple([want for n in numbers if (want := free[n].want)])
            found.update(zip(numbers, by_class[name].choose(slot, wants), strict=True))
        return [found[number] for number in range(len(free))]

    def _volumes(
        self, claims: DelayedClaims, chosen: Sequence[PersistentVolume | None], slot: int
    ) -> PodVolumes:
        pairs = list(zip(claims.free, chosen, strict=True))
        unmatched = [*claims.here, *[delayed for delayed, volume in pairs if volume is None]]
        provision = self._provisioning.provision
        return PodVolumes(
            tuple([StaticBinding(delayed.claim, volume) for delayed, volume in pairs if volume]),
            tuple([provision(delayed.claim, delayed.request, slot) for delayed in unmatched]),
        )

    def assigned(self, claims: DelayedClaims, slot: int) -> PodVolumes | None:
        """The best assignment of existing volumes; None: some claim cannot get a volume at all."""
        is_possible = self._provisioning.is_possible
        if not all(is_possible(delayed.request, slot) for delayed in claims.here):
            return None
        candidates = [self._candidates(delayed, slot, len(claims.free)) for delayed in claims.free]
        required = [not is_possible(delayed.request, slot) for delayed in claims.free]
        wanted = [found for found, must in zip(candidates, required, strict=True) if must]
        if len(set().union(*wanted)) < len(wanted):
            return None
        options = [
            [Option(size_of(v.spec.capacity).rank - delayed.rank, v.name) for v in found.values()]
            for delayed, found in zip(claims.free, candidates, strict=True)
        ]
        assigned = assign(options, required)
        if assigned is None:
            return None
        chosen = [
            found[option.name] if option else None
            for option, found in zip(assigned, candidates, strict=True)
        ]
        volumes = self._volumes(claims, chosen, slot)
        return volumes if self._new.do_fit(_provisioned(claims, volumes), slot) else None

    def _candidates(
        self, delayed: DelayedClaim, slot: int, number: int
    ) -> dict[str, PersistentVolume]:
        """More than one for each claim are never needed: one of the smallest is always left."""
        if delayed.kept is not None:
            return {delayed.kept.name: delayed.kept} if self.reach(delayed.kept) >> slot & 1 else {}
        volumes = self._columns.volumes.by_class.get(delayed.request.class_name)
        if volumes is None or delayed.want is None:
            return {}
        found = volumes.choices(slot, delayed.want)[:number]
        return {volume.name: volume for volume in found}


def _provisioned(claims: DelayedClaims, volumes: PodVolumes) -> list[DelayedClaim]:
    return [
        delayed
        for delayed in claims.all
        if any(new.claim is delayed.claim for new in volumes.provisions)
    ]


def _are_rivals(free: Sequence[DelayedClaim], chosen: Sequence[PersistentVolume | None]) -> bool:
    """Whether one claim has got a volume of a class, and another none of the same class."""
    served = {delayed.request.class_name for delayed, got in zip(free, chosen, strict=True) if got}
    return bool(served) and any(
        got is None and delayed.request.class_name in served
        for delayed, got in zip(free, chosen, strict=True)
    )
