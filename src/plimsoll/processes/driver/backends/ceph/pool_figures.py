"""Pools of Ceph as the services see them: what they hold, and where a class says that they are."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, PoolKey
from plimsoll.decide.ceph.pool_capacity import (
    CephPoolUsage,
    PromisedVolume,
    ThinSpace,
    thin_space,
)
from plimsoll.processes.driver.backends.protocol import Charges, Extent, Pool

Segments = tuple[Mapping[str, str], ...]

NOTHING = ThinSpace(available_bytes=0, unwritten_bytes=0)


def pool_figures(
    usages: Mapping[str, CephPoolUsage], charges: Charges, overcommit: Fraction
) -> Sequence[Pool]:
    """By name; `overcommit` is for classes that do not say otherwise."""
    return [_pool(name, usages[name], charges, overcommit) for name in sorted(usages)]


def _pool(name: str, usage: CephPoolUsage, charges: Charges, overcommit: Fraction) -> Pool:
    taken = charges.promised.get(name, 0)
    promised = PromisedVolume(size_bytes=taken, written_bytes=min(taken, usage.stored_bytes))
    usages = {PoolKey("", name): usage}
    thin = thin_space(ConstrainedPool(name=name), usages, [promised]) or NOTHING
    total = usage.stored_bytes + usage.max_avail_bytes
    free = thin.free_bytes(overcommit)
    extent = Extent(
        name=name,
        total_bytes=total,
        free_bytes=free,
        thin=thin,
        is_measured=usage.is_measured,
    )
    return Pool(name=name, topology=(), extents=(extent,))


def pool_segments(pools: Sequence[ConstrainedPool], key_prefix: str) -> Mapping[str, Segments]:
    """By pool. One that the class names for several domains is reachable from each."""
    return {pool.name: _segments(pools, pool.name, key_prefix) for pool in pools}


def _segments(pools: Sequence[ConstrainedPool], name: str, key_prefix: str) -> Segments:
    entries = [item for item in pools if item.name == name]
    if any(not item.segments for item in entries):
        return ()
    return tuple({key_prefix + label: value for label, value in item.segments} for item in entries)
