"""Which pool ceph-csi takes: the first in the list that is near the first requested segment.

It looks at no free space. Its answer pins a volume to the whole segment that matched, also where
the pool is near a wider domain. A segment that first matches an entry without a pool is skipped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.decide.ceph.constrained_pools import PARAMETER, ConstrainedPool, compatible_pools
from plimsoll.decide.ceph.label_names import short_name
from plimsoll.decide.provisioning.calls import AccessibilityRequirement, Segment


class PoolMatchProblem(StrEnum):
    POOL_NOT_CONFIGURED = "PoolNotConfigured"
    """The pool of the snapshot is not in the list."""
    NO_POOL_MATCHES = "NoPoolMatchesTopology"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPool:
    pool: ConstrainedPool
    segment: Segment
    """What the driver answers as the topology of the volume."""


def find_constrained_pools(
    parameters: Mapping[str, str], requirement: AccessibilityRequirement | None
) -> tuple[ConstrainedPool, ...] | None:
    """None: topology does not matter. Raises ValueError for a parameter that cannot be read."""
    text = parameters.get(PARAMETER)
    if not text or requirement is None:
        return None
    return compatible_pools(text)


def compatible_choice(
    pools: Sequence[ConstrainedPool],
    requirement: AccessibilityRequirement,
    *,
    bound_to: str | None = None,
) -> MatchedPool | PoolMatchProblem:
    """`bound_to` is the pool of a snapshot that is restored; None: any pool will do."""
    if bound_to is not None:
        pools = [pool for pool in pools if pool.name == bound_to][:1]
        if not pools:
            return PoolMatchProblem.POOL_NOT_CONFIGURED
    for segment in (*requirement.preferred, *requirement.requisite):
        pool = _first_match(pools, segment)
        if pool and pool.name:
            return MatchedPool(pool=pool, segment=segment)
    return PoolMatchProblem.NO_POOL_MATCHES


def _first_match(pools: Sequence[ConstrainedPool], segment: Segment) -> ConstrainedPool | None:
    domains = {short_name(key): value for key, value in segment.items()}
    return next((pool for pool in pools if _is_near(pool, domains)), None)


def _is_near(pool: ConstrainedPool, domains: Mapping[str, str]) -> bool:
    return all(domains.get(label) == value for label, value in pool.segments)
