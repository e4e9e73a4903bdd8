"""How large a volume a pool can still promise.

What Ceph calls available ignores the quota of the pool, and does not fall while the OSDs of a zone
are down. Images take space only where they were written, so sizes that were promised and not yet
written are subtracted. A class may promise more than there is, by a factor: classes of different
factors that share a pool see the same promises, and each holds them against what it may promise.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, PoolKey

MOST_OVERCOMMIT = 1000
NO_OVERCOMMIT = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPoolUsage:
    """What `df detail` and the tree of OSDs tell about a pool."""

    max_avail_bytes: int
    stored_bytes: int = 0
    quota_bytes: int = 0
    """0: there is none."""
    is_up: bool = True
    """False: the OSDs of its domain are down."""
    is_measured: bool = True
    """False: Ceph has not told its figures yet, as of a pool that is new."""

    @property
    def available_bytes(self) -> int:
        if not self.is_up:
            return 0
        left = self.quota_bytes - self.stored_bytes if self.quota_bytes else self.max_avail_bytes
        return max(0, min(self.max_avail_bytes, left))


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedVolume:
    size_bytes: int
    written_bytes: int = 0

    @property
    def unwritten_bytes(self) -> int:
        return max(0, self.size_bytes - self.written_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinSpace:
    """Bytes that a pool has, and bytes that were promised of it and are not written yet."""

    available_bytes: int
    unwritten_bytes: int

    def free_bytes(self, overcommit: Fraction) -> int:
        """The largest volume that can be promised by a class with this factor."""
        return max(0, int(self.available_bytes * overcommit) - self.unwritten_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPoolState:
    free_bytes: int
    """The largest volume that can be promised."""
    volumes: int
    is_measured: bool = True
    """False: Ceph has not told yet how much is free."""


def parse_overcommit(text: str) -> Fraction:
    """How many bytes are promised for each that there is: `1`, `2.5`. Raises ValueError."""
    if not _FACTOR(text.strip()):
        raise ValueError(f"overcommit {text[:20]!r} is no number; write it like 1 or 2.5")
    factor = Fraction(text.strip())
    if not 0 < factor <= MOST_OVERCOMMIT:
        raise ValueError(f"overcommit {text!r} must be more than 0, and at most {MOST_OVERCOMMIT}")
    return factor


_FACTOR = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII).fullmatch


def pool_state(
    pool: ConstrainedPool,
    usages: Mapping[PoolKey, CephPoolUsage],
    promised: Iterable[PromisedVolume],
    *,
    overcommit: Fraction = NO_OVERCOMMIT,
) -> CephPoolState | None:
    """None: Ceph does not know the pool, or the pool of its data."""
    volumes = tuple(promised)
    space = thin_space(pool, usages, volumes)
    if space is None:
        return None
    return CephPoolState(free_bytes=space.free_bytes(overcommit), volumes=len(volumes))


def thin_space(
    pool: ConstrainedPool,
    usages: Mapping[PoolKey, CephPoolUsage],
    promised: Iterable[PromisedVolume],
) -> ThinSpace | None:
    """None: Ceph does not know the pool, or the pool of its data."""
    own, data = usages.get(pool.key), usages.get(data_key(pool))
    if own is None or data is None:
        return None
    # An image whose data is elsewhere still needs its own pool to write its header to.
    available = data.available_bytes if own.available_bytes else 0
    unwritten = sum(volume.unwritten_bytes for volume in promised)
    return ThinSpace(available_bytes=available, unwritten_bytes=unwritten)


def data_key(pool: ConstrainedPool) -> PoolKey:
    return pool.key._replace(name=pool.data_pool or pool.name)
