"""From where a volume can be reached, and what is told of its place, where a class says `reach`.

A volume of `reach: Anywhere` is placed like any other: near the node that it is wanted for. Every
node can reach it, and its context tells which of them are near, and why its pool was chosen.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

import msgspec

from plimsoll.api.quantity import Format, Quantity
from plimsoll.decide.annotations import PLACEMENT_REASON, PREFERRED_TOPOLOGY
from plimsoll.decide.ceph.label_names import short_name
from plimsoll.decide.ceph.pool_choice import VolumeReach
from plimsoll.decide.preferred_topology import preferred_text
from plimsoll.processes.driver.backends.protocol import Pool, VolumeLayout
from plimsoll.processes.driver.controller.placement import (
    Segment,
    TopologyRequirement,
    is_reachable,
)
from plimsoll.processes.driver.records import VolumePlacement


def with_reach(
    place: VolumePlacement,
    layout: VolumeLayout,
    requirement: TopologyRequirement,
    pools: Sequence[Pool],
) -> VolumePlacement:
    """The place as the class wants it to be told. `pools` are all, before anything was taken."""
    match layout.reach:
        case None:
            return place
        case VolumeReach.DOMAIN | VolumeReach.SERVED_DOMAIN:
            reason = _reason(place, requirement, pools)
            return msgspec.structs.replace(place, reason=reason)
        case VolumeReach.ANYWHERE:
            reason = _reason(place, requirement, pools)
            near = _levels(place)
            return msgspec.structs.replace(place, topology=(), near=near, reason=reason)
        case _:
            assert_never(layout.reach)


def told_of_place(place: VolumePlacement) -> dict[str, str]:
    """For the context of the volume."""
    told = {PREFERRED_TOPOLOGY: preferred_text(place.near), PLACEMENT_REASON: place.reason}
    return {key: text for key, text in told.items() if text}


def _levels(place: VolumePlacement) -> tuple[Segment, ...]:
    """The labels of its pool, in their order; none where it is near several segments, or all."""
    if len(place.topology) != 1:
        return ()
    return tuple({key: value} for key, value in place.topology[0].items())


def _reason(place: VolumePlacement, requirement: TopologyRequirement, pools: Sequence[Pool]) -> str:
    chosen = [pool for pool in pools if pool.name in place.pools]
    free = sum(extent.free_bytes for pool in chosen for extent in pool.extents)
    first = requirement.preferred[0] if requirement.preferred else None
    if first is not None and any(is_reachable(pool.topology, first) for pool in chosen):
        why = f"near {_shown(first)}, which is preferred"
    elif first is not None:
        why = f"no pool near {_shown(first)} has room"
    else:
        why = "any domain would do, and it has most room"
    size = Quantity(free, format=Format.BINARY_SI).canonical
    return f"Pool {', '.join(place.pools)}: {why} ({size} free)."


def _shown(segment: Mapping[str, str]) -> str:
    return ",".join(f"{short_name(key)}={value}" for key, value in segment.items())
