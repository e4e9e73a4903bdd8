"""What late claims get on one node, volume by volume."""

from collections.abc import Sequence

import numpy as np

from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import volume_terms
from plimsoll.decide.scheduling.rules.volume_binding.assignment import Option, assign
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import (
    LateClaim,
    LateClaims,
    Policy,
)
from plimsoll.decide.scheduling.rules.volume_binding.filter import PodVolumes, StaticBinding
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import DynamicProvision
from plimsoll.decide.scheduling.rules.volume_binding.provisioning_columns import Making


class StaticMatching:
    def __init__(self, columns: Columns, making: Making, policy: Policy) -> None:
        self._columns = columns
        self._making = making
        self._policy = policy

    def bind(self, claims: LateClaims, slot: int) -> PodVolumes:
        """What is to be done for the claims on a node that passed."""
        chosen = self._choose(claims.free, slot)
        volumes = self._volumes(claims, chosen, slot)
        if self._policy is Policy.COMPATIBLE or not _are_rivals(claims.free, chosen):
            return volumes
        better = self.assigned(claims, slot)
        if better is None:
            return volumes
        can_make = all(
            self._is_makeable(late, slot)
            for late in claims.all
            if any(made.claim is late.claim for made in volumes.provisions)
        )
        return better if not can_make or len(better.static) > len(volumes.static) else volumes

    def reach(self, volume: PersistentVolume) -> int:
        return self._columns.labels.matching(volume_terms(volume.spec.required_nodes))

    def _choose(self, free: Sequence[LateClaim], slot: int) -> list[PersistentVolume | None]:
        found: dict[int, PersistentVolume | None] = {}
        for number, late in enumerate(free):
            is_reached = late.kept is not None and self.reach(late.kept) >> slot & 1
            found[number] = late.kept if is_reached else None
        rest = [number for number, late in enumerate(free) if late.want]
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
        self, claims: LateClaims, chosen: Sequence[PersistentVolume | None], slot: int
    ) -> PodVolumes:
        pairs = list(zip(claims.free, chosen, strict=True))
        unmatched = (*claims.here, *(late for late, volume in pairs if volume is None))
        return PodVolumes(
            static=tuple(StaticBinding(late.claim, volume) for late, volume in pairs if volume),
            provisions=tuple(
                DynamicProvision(late.claim, self._making.find_capacity(late.request, slot))
                for late in unmatched
            ),
        )

    def _is_makeable(self, late: LateClaim, slot: int) -> bool:
        return not self._making.blocked(late.request, np.array([slot], np.intp))[0]

    def assigned(self, claims: LateClaims, slot: int) -> PodVolumes | None:
        """The best assignment of existing volumes; None: some claim cannot be served at all."""
        if not all(self._is_makeable(late, slot) for late in claims.here):
            return None
        candidates = [self._candidates(late, slot, len(claims.free)) for late in claims.free]
        required = [not self._is_makeable(late, slot) for late in claims.free]
        wanted = [found for found, must in zip(candidates, required, strict=True) if must]
        if len(set().union(*wanted)) < len(wanted):
            return None
        options = [
            [Option(size_of(v.spec.capacity).rank - late.rank, v.name) for v in found.values()]
            for late, found in zip(claims.free, candidates, strict=True)
        ]
        assigned = assign(options, required)
        if assigned is None:
            return None
        chosen = [
            found[option.name] if option else None
            for option, found in zip(assigned, candidates, strict=True)
        ]
        return self._volumes(claims, chosen, slot)

    def _candidates(self, late: LateClaim, slot: int, number: int) -> dict[str, PersistentVolume]:
        """More than one for each claim are never needed: one of the smallest is always left."""
        if late.kept is not None:
            return {late.kept.name: late.kept} if self.reach(late.kept) >> slot & 1 else {}
        volumes = self._columns.volumes.of_class(late.request.class_name)
        if volumes is None or late.want is None:
            return {}
        found = volumes.choices(int(volumes.cells.of[slot]), late.want)[:number]
        return {volume.name: volume for volume in found}


def _are_rivals(free: Sequence[LateClaim], chosen: Sequence[PersistentVolume | None]) -> bool:
    """Whether one claim has got a volume of a class, and another none of the same class."""
    served = {late.request.class_name for late, got in zip(free, chosen, strict=True) if got}
    return any(
        got is None and late.request.class_name in served
        for late, got in zip(free, chosen, strict=True)
    )
