"""Which pool a volume goes to: the rules of `decide.ceph.pool_choice`, for requests to a driver."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Protocol

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.pool_capacity import CephPoolState
from plimsoll.decide.ceph.pool_choice import (
    ChosenPool,
    NoCapacityInPools,
    PoolRequest,
    PoolSpread,
    VolumeReach,
    choose_pool,
)
from plimsoll.decide.provisioning.calls import AccessibilityRequirement
from plimsoll.processes.driver.backends.protocol import Extent, PlaceRequest, Pool, promised
from plimsoll.processes.driver.records import Part, VolumePlacement
from plimsoll.wire.csi.refusals import resource_exhausted, unavailable

UNMEASURED = "It does so seconds after a pool was made; look whether a manager runs (`ceph -s`)"


class SpreadRules(Protocol):
    """What a class says about where its volumes go, and how much is promised there."""

    @property
    def spread(self) -> PoolSpread: ...

    @property
    def reach(self) -> VolumeReach: ...

    @property
    def overcommit(self) -> Fraction | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlaces:
    domains: DomainLabels
    volumes_in: Callable[[str], int]
    chance: Random

    def choose(
        self,
        wanted: SpreadRules,
        pools: Sequence[ConstrainedPool],
        figures: Sequence[Pool],
        request: PlaceRequest,
    ) -> VolumePlacement:
        """Raises CsiStatusError (RESOURCE_EXHAUSTED, and UNAVAILABLE while it is not known)."""
        extents = {pool.name: promised(pool.extents[0], wanted.overcommit) for pool in figures}
        states = {pool.key: state for pool in pools if (state := self._state(pool, extents))}
        chosen = choose_pool(pools, states, self._pool_request(wanted, request))
        if isinstance(chosen, NoCapacityInPools) and chosen.unmeasured:
            raise unavailable(f"volume {request.name}: {chosen.reason} {UNMEASURED}")
        if not isinstance(chosen, ChosenPool):
            raise resource_exhausted(f"volume {request.name}: {chosen.reason}")
        extent = chosen.pool.data_pool or chosen.pool.name
        is_served = wanted.reach is VolumeReach.SERVED_DOMAIN and bool(chosen.topology)
        return VolumePlacement(
            pools=(chosen.pool.name,),
            parts=(Part(extent=extent, bytes=request.size_bytes),),
            topology=(chosen.preferred,) if is_served else chosen.topology,
            served_from=chosen.topology if is_served else (),
            near=() if wanted.reach is VolumeReach.DOMAIN else self._levels(chosen.preferred),
            reason=chosen.reason,
        )

    def _state(self, pool: ConstrainedPool, extents: Mapping[str, Extent]) -> CephPoolState | None:
        """None: Ceph does not know the pool, or that of its data."""
        own, data = extents.get(pool.name), extents.get(pool.data_pool or pool.name)
        if own is None or data is None:
            return None
        # An image whose data is elsewhere still needs its own pool to write its header to.
        room = data.free_bytes if own.free_bytes else 0
        return CephPoolState(
            free_bytes=room,
            volumes=self.volumes_in(pool.name),
            is_measured=own.is_measured and data.is_measured,
        )

    def _levels(self, preferred: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        """The labels of the domain of the data, the widest first."""
        levels = self.domains.levels
        keys = [key for level in levels if (key := self.domains.key(level)) in preferred]
        return tuple({key: preferred[key]} for key in keys)

    def _pool_request(self, wanted: SpreadRules, request: PlaceRequest) -> PoolRequest:
        return PoolRequest(
            size_bytes=request.size_bytes,
            domains=self.domains,
            requirement=_requirement(request),
            # A caller that does not say may have chosen a node: then only its domain will do.
            is_delayed=request.is_delayed is not False,
            spread=wanted.spread,
            reach=wanted.reach,
            chance=self.chance.random(),
        )


def _requirement(request: PlaceRequest) -> AccessibilityRequirement | None:
    if not (request.requisite or request.preferred):
        return None
    return AccessibilityRequirement(requisite=request.requisite, preferred=request.preferred)
