"""Which pools a volume goes to, and how large it could be there: pure, one answer for each state.

A place is one pool, or several of different segments for a volume that is kept whole in each.
Preferred segments come first, in their order. Among equal pools the one comes first that is
reachable from the fewest segments beyond the requested ones, then the one that could hold the
largest volume, then the first by name. What `GetCapacity`
reports comes from the function that places volumes, so the two cannot disagree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import msgspec

from plimsoll.decide.capacity.volume_sizes import (
    find_grown_parts,
    find_parts,
    largest_volume,
    total_volumes,
)
from plimsoll.processes.driver.backends.protocol import Extent, Pool, VolumeLayout, promised
from plimsoll.processes.driver.records import Part, VolumePlacement

Segment = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRequirement:
    requisite: tuple[Segment, ...] = ()
    """Some of them must reach the volume; none given: anywhere."""
    preferred: tuple[Segment, ...] = ()
    served: tuple[Segment, ...] = ()
    """Where the driver has nodes: what may be anywhere is rather there."""


ANYWHERE = TopologyRequirement()


def free_extents(pool: Pool) -> dict[str, int]:
    return {extent.name: extent.free_bytes for extent in pool.extents}


def agree(one: Segment, other: Segment) -> bool:
    """Whether a place can be in both: a key that only one of them names says nothing against."""
    for key, value in one.items():  # noqa: SIM110 - a plain loop: asked for each pool, again and again
        if other.get(key, value) != value:
            return False
    return True


def is_reachable(topology: Sequence[Segment], segment: Segment) -> bool:
    """Whether what is reachable from the first can be so from the second; none: everywhere."""
    if not topology:
        return True
    for own in topology:  # noqa: SIM110 - asked for each pool whenever capacity is
        if agree(own, segment):
            return True
    return False


def are_apart(one: Pool, other: Pool) -> bool:
    """Whether what befalls the segments of one leaves the other alone."""
    return bool(one.topology and other.topology) and not any(
        agree(mine, yours) for mine in one.topology for yours in other.topology
    )


def _usable_pools(
    pools: Sequence[Pool], layout: VolumeLayout, requirement: TopologyRequirement
) -> Sequence[Pool]:
    """The pools that a volume can be in; those of a volume in several pools can be any."""
    if layout.domains > 1:
        return pools
    return _reachable(_allowed(pools, layout), requirement)


def find_place(
    pools: Sequence[Pool], layout: VolumeLayout, requirement: TopologyRequirement, size_bytes: int
) -> VolumePlacement | None:
    """The best place for the volume; None: too little capacity is free where it may be."""
    chosen = None
    if requirement.served and not requirement.requisite:
        served = TopologyRequirement(requisite=requirement.served)
        chosen = next(_places(pools, layout, served, size_bytes), None)
    chosen = chosen or next(_places(pools, layout, requirement, size_bytes), None)
    return None if chosen is None else _placement(chosen, layout, size_bytes)


class FreeCapacity(NamedTuple):
    largest_bytes: int
    """Of one volume; 0: none fits."""
    total_bytes: int


def free_capacity(
    pools: Sequence[Pool], layout: VolumeLayout, requirement: TopologyRequirement
) -> FreeCapacity:
    """What `largest_place` and `total_places` say, of pools that are looked at once."""
    if layout.domains > 1:
        largest = largest_place(pools, layout, requirement)
        return FreeCapacity(largest, total_places(pools, layout, requirement))
    free = [free_extents(pool) for pool in _usable_pools(pools, layout, requirement)]
    return FreeCapacity(
        max((largest_volume(each, layout) for each in free), default=0),
        sum(total_volumes(each, layout) for each in free),
    )


def largest_place(
    pools: Sequence[Pool], layout: VolumeLayout, requirement: TopologyRequirement
) -> int:
    """The size of the largest volume that could be placed; 0: none fits."""
    if layout.domains == 1:
        return free_capacity(pools, layout, requirement).largest_bytes
    sizes = {largest_volume(free_extents(pool), layout) for pool in pools} - {0}
    # A volume in several pools is as large as the smallest of them allows: one of these sizes.
    fits = (size for size in sorted(sizes, reverse=True) if _fits(pools, layout, requirement, size))
    return next(fits, 0)


def _fits(
    pools: Sequence[Pool], layout: VolumeLayout, requirement: TopologyRequirement, size_bytes: int
) -> bool:
    return next(_places(pools, layout, requirement, size_bytes), None) is not None


def total_places(
    pools: Sequence[Pool], layout: VolumeLayout, requirement: TopologyRequirement
) -> int:
    """What could be placed in sum; for volumes in several pools, the largest again and again."""
    if layout.domains == 1:
        return free_capacity(pools, layout, requirement).total_bytes
    total, left = 0, list(pools)
    while size := largest_place(left, layout, requirement):
        place = find_place(left, layout, requirement, size)
        if place is None:
            break
        total += size
        left = [_without(pool, place) for pool in left]
    return total


def find_larger_place(
    pools: Sequence[Pool], layout: VolumeLayout, placement: VolumePlacement, size_bytes: int
) -> VolumePlacement | None:
    """The same place with the capacity of a larger volume; None: there is not that much."""
    taken = {part.extent: part.bytes for part in placement.parts}
    grown: list[Part] = []
    for pool in _allowed(pools, replace(layout, pools=frozenset(placement.pools))):
        free = free_extents(pool)
        own = {name: taken[name] for name in free if name in taken}
        parts = find_grown_parts(free, layout, own, size_bytes)
        if parts is None:
            return None
        grown += (Part(extent=name, bytes=parts[name]) for name in sorted(parts))
    return msgspec.structs.replace(placement, parts=tuple(grown))


def _without(pool: Pool, place: VolumePlacement) -> Pool:
    taken = {part.extent: part.bytes for part in place.parts}
    extents = (
        replace(extent, free_bytes=extent.free_bytes - taken.get(extent.name, 0))
        for extent in pool.extents
    )
    return replace(pool, extents=tuple(extents))


def _allowed(pools: Sequence[Pool], layout: VolumeLayout) -> list[Pool]:
    """As the class sees them: where it says that they are, with the extents that it fills, and what
    it may promise of them."""
    extents = {pool.name: promised_extents(pool, layout) for pool in pools}
    return [
        replace(
            pool,
            topology=layout.located.get(pool.name, pool.topology),
            extents=_filled(pool.name, layout.stored_in, extents),
        )
        for pool in pools
        if layout.pools is None or pool.name in layout.pools
    ]


def _filled(
    pool: str, stored_in: Mapping[str, str], extents: Mapping[str, tuple[Extent, ...]]
) -> tuple[Extent, ...]:
    """Where the bytes of its volumes go. A pool that is full takes none whose bytes are elsewhere,
    either: it has their headers."""
    data = stored_in.get(pool, pool)
    is_open = data == pool or any(extent.free_bytes > 0 for extent in extents[pool])
    return extents.get(data, ()) if is_open else ()


def promised_extents(pool: Pool, layout: VolumeLayout) -> tuple[Extent, ...]:
    """With what the class may promise of each."""
    if layout.overcommit is None:
        return pool.extents
    return tuple(promised(extent, layout.overcommit) for extent in pool.extents)


def _ranked(
    pools: Sequence[Pool], requirement: TopologyRequirement, largest: Callable[[Pool], int]
) -> list[Pool]:
    """The pools that the requirement allows, the best first."""

    def rank(pool: Pool) -> tuple[int, int, int, str]:
        preferred = enumerate(requirement.preferred)
        preference = next(
            (place for place, segment in preferred if is_reachable(pool.topology, segment)),
            len(requirement.preferred),
        )
        return preference, _strays(pool, requirement), -largest(pool), pool.name

    return sorted(_reachable(pools, requirement), key=rank)


def _reachable(pools: Sequence[Pool], requirement: TopologyRequirement) -> Sequence[Pool]:
    """The pools that the requirement allows."""
    asked = requirement.requisite
    if not asked:
        return pools
    if len(asked) == 1:  # as whenever capacity is asked for
        return [pool for pool in pools if is_reachable(pool.topology, asked[0])]
    return [pool for pool in pools if any(is_reachable(pool.topology, item) for item in asked)]


def _strays(pool: Pool, requirement: TopologyRequirement) -> int:
    """From how many segments that were not asked for it is reachable: some classes allow none."""
    if not requirement.requisite:
        return 0
    return sum(
        not any(agree(segment, item) for item in requirement.requisite) for segment in pool.topology
    )


def _places(
    pools: Sequence[Pool], layout: VolumeLayout, requirement: TopologyRequirement, size_bytes: int
) -> Iterator[tuple[Pool, ...]]:
    """Every set of pools that could hold such a volume, the best first."""

    def largest(pool: Pool) -> int:
        return largest_volume(free_extents(pool), layout)

    large_enough = [pool for pool in _allowed(pools, layout) if largest(pool) >= size_bytes]
    wanted = _ranked(large_enough, requirement, largest)
    elsewhere = [pool for pool in _ranked(large_enough, ANYWHERE, largest) if pool not in wanted]
    for chosen in _apart(wanted, elsewhere, layout.domains):
        inside = [pool for pool in chosen if pool in wanted]
        if len(inside) == len(chosen) or _covers(inside, requirement):
            yield chosen


def _apart(
    wanted: Sequence[Pool], elsewhere: Sequence[Pool], number: int
) -> Iterator[tuple[Pool, ...]]:
    """So many pools that are apart from each other, the first of them where it is wanted."""

    def further(chosen: tuple[Pool, ...], rest: Sequence[Pool]) -> Iterator[tuple[Pool, ...]]:
        if len(chosen) == number:
            yield chosen
            return
        for place, pool in enumerate(rest):
            if all(are_apart(pool, other) for other in chosen):
                yield from further((*chosen, pool), rest[place + 1 :])

    order = [*wanted, *elsewhere]
    return chain.from_iterable(
        further((pool,), order[place + 1 :]) for place, pool in enumerate(wanted)
    )


def _covers(pools: Sequence[Pool], requirement: TopologyRequirement) -> bool:
    """Whether every place asked for is served: only then may a volume be in others besides."""
    return all(
        any(is_reachable(pool.topology, item) for pool in pools) for item in requirement.requisite
    )


def _placement(
    pools: Sequence[Pool], layout: VolumeLayout, size_bytes: int
) -> VolumePlacement | None:
    parts: list[Part] = []
    for pool in pools:
        found = find_parts(free_extents(pool), layout, size_bytes)
        if found is None:
            return None
        parts += (Part(extent=name, bytes=taken) for name, taken in found.items())
    return VolumePlacement(
        pools=tuple(pool.name for pool in pools),
        parts=tuple(parts),
        topology=_topology(pools),
        served_from=_served_from(pools, layout),
    )


def _served_from(pools: Sequence[Pool], layout: VolumeLayout) -> tuple[Segment, ...]:
    """Nothing unless all of the pools are served: their segments alone name the others."""
    found = [layout.served_from.get(pool.name, ()) for pool in pools]
    return tuple(segment for each in found for segment in each) if all(found) else ()


def _topology(pools: Sequence[Pool]) -> tuple[Segment, ...]:
    """Reachable from where any of the pools is."""
    if any(not pool.topology for pool in pools):
        return ()
    segments = [segment for pool in pools for segment in pool.topology]
    return tuple(
        segment for place, segment in enumerate(segments) if segment not in segments[:place]
    )
