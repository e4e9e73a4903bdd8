"""What delay-bound claims get on one node, volume by volume."""

from collections.abc import Sequence

import numpy as np

from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import volume_terms
from plimsoll.decide.scheduling.rules.volume_binding.assignment import Option, assign
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import (
    DelayedClaim,
    DelayedClaims,
    Policy,
)
from plimsoll.decide.scheduling.rules.volume_binding.filter import PodVolumes, StaticBinding
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import DynamicProvision
from plimsoll.decide.scheduling.rules.volume_binding.provisioning_columns import ProvisioningColumns


class StaticMatching:
    def __init__(self, columns: Columns, provisioning: ProvisioningColumns, policy: Policy) -> None:
        self._columns = columns
        self._provisioning = provisioning
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
        can_all_be_provisioned = all(
            self._can_be_provisioned(delayed, slot)
            for delayed in claims.all
            if any(made.claim is delayed.claim for made in volumes.provisions)
        )
        return (
            better
            if not can_all_be_provisioned or len(better.static) > len(volumes.static)
            else volumes
        )

    def reach(self, volume: PersistentVolume) -> int:
        return self._columns.labels.matching(volume_terms(volume.spec.required_nodes))

    def _choose(self, free: Sequence[DelayedClaim], slot: int) -> list[PersistentVolume | None]:
        found: dict[int, PersistentVolume | None] = {}
        for number, delayed in enumerate(free):
            is_reached = delayed.kept is not None and self.reach(delayed.kept) >> slot & 1
            found[number] = delayed.kept if is_reached else None
        rest = [number for number, delayed in enumerate(free) if delayed.want]
        for name in dict.fromkeys(free[number].request.class_name for number in rest):
            numbers = [n for n in rest if free[n].request.class_name == name]
            volumes = self._columns.volumes.of_class(name)
            wants = tuple(want for n in numbers if (want := free[n].want))
            chosen: Sequence[PersistentVolume | None] = (None,) * len(numbers)
            if volumes is not None:
                chosen = volumes.choose(int(volumes.cells.of[slot]), wants)
            found.update(zip(numbers, chosen, strict=True))
        return [found[number] for number in range(len(free))]

    def _volumes(
        self, claims: DelayedClaims, chosen: Sequence[PersistentVolume | None], slot: int
    ) -> PodVolumes:
        pairs = list(zip(claims.free, chosen, strict=True))
        unmatched = (*claims.here, *(delayed for delayed, volume in pairs if volume is None))
        return PodVolumes(
            static=tuple(
                StaticBinding(delayed.claim, volume) for delayed, volume in pairs if volume
            ),
            provisions=tuple(
                DynamicProvision(
                    delayed.claim, self._provisioning.find_capacity(delayed.request, slot)
                )
                for delayed in unmatched
            ),
        )

    def _can_be_provisioned(self, delayed: DelayedClaim, slot: int) -> bool:
        return not self._provisioning.blocked(delayed.request, np.array([slot], np.intp))[0]

    def assigned(self, claims: DelayedClaims, slot: int) -> PodVolumes | None:
        """The best assignment of existing volumes; None: some claim cannot be served at all."""
        if not all(self._can_be_provisioned(delayed, slot) for delayed in claims.here):
            return None
        candidates = [self._candidates(delayed, slot, len(claims.free)) for delayed in claims.free]
        required = [not self._can_be_provisioned(delayed, slot) for delayed in claims.free]
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
        return self._volumes(claims, chosen, slot)

    def _candidates(
        self, delayed: DelayedClaim, slot: int, number: int
    ) -> dict[str, PersistentVolume]:
        """More than one for each claim are never needed: one of the smallest is always left."""
        if delayed.kept is not None:
            return {delayed.kept.name: delayed.kept} if self.reach(delayed.kept) >> slot & 1 else {}
        volumes = self._columns.volumes.of_class(delayed.request.class_name)
        if volumes is None or delayed.want is None:
            return {}
        found = volumes.choices(int(volumes.cells.of[slot]), delayed.want)[:number]
        return {volume.name: volume for volume in found}


def _are_rivals(free: Sequence[DelayedClaim], chosen: Sequence[PersistentVolume | None]) -> bool:
    """Whether one claim has got a volume of a class, and another none of the same class."""
    served = {delayed.request.class_name for delayed, got in zip(free, chosen, strict=True) if got}
    return any(
        got is None and delayed.request.class_name in served
        for delayed, got in zip(free, chosen, strict=True)
    )
