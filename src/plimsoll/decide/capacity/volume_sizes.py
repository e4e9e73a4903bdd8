"""How much capacity a volume takes, and whether it fits: pure arithmetic on whole numbers.

Capacity comes in extents (disks). A volume of some class takes from a pool `size * copies` bytes
plus a fixed overhead, either in equal shares from so many different extents, or split over the
extents wherever they have free bytes. Sizes are multiples of a unit. A driver places volumes and
reports capacity by these rules, and a scheduler that knows the extents comes to the same numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Free = Mapping[str, int]
"""Free bytes by the name of the extent."""
Parts = dict[str, int]
"""Taken bytes by the name of the extent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    copies: int = 1
    shares: int = 1
    """0: split wherever extents have free bytes."""
    unit_bytes: int = 1
    overhead_bytes: int = 0
    minimum_bytes: int = 1
    maximum_bytes: int | None = None

    @property
    def smallest_bytes(self) -> int:
        """The smallest volume there can be."""
        return self.rounded(self.minimum_bytes)

    def rounded(self, size_bytes: int) -> int:
        """The smallest volume that is as large as that."""
        wanted = max(size_bytes, self.minimum_bytes, 1)
        return -(-wanted // self.unit_bytes) * self.unit_bytes

    def taken(self, size_bytes: int) -> int:
        """What one volume takes from all extents together."""
        return self.rounded(size_bytes) * self.copies + self.overhead_bytes

    def share(self, size_bytes: int) -> int:
        """What one volume takes from each of its extents."""
        return -(-self.taken(size_bytes) // self.shares)

    def fitting(self, free_bytes: int) -> int:
        """The largest volume that takes no more than that; 0: there is none."""
        size = (free_bytes - self.overhead_bytes) // self.copies
        if self.maximum_bytes is not None:
            size = min(size, self.maximum_bytes)
        size = size // self.unit_bytes * self.unit_bytes
        return size if size >= self.smallest_bytes else 0


def find_parts(free: Free, cost: Cost, size_bytes: int) -> Parts | None:
    """What such a volume takes from which extents; None: it does not fit.

    One share goes where it leaves the least, so that large extents stay whole. Several go where
    there is most: what is left of the others keeps partners.
    """
    if cost.shares == 0:
        return _spread(free, cost.taken(size_bytes))
    share = cost.share(size_bytes)
    enough = [name for name, size in free.items() if size >= share]
    if len(enough) < cost.shares:
        return None
    sign = 1 if cost.shares == 1 else -1
    chosen = sorted(enough, key=lambda name: (sign * free[name], name))[: cost.shares]
    return dict.fromkeys(sorted(chosen), share)


def _spread(free: Free, wanted: int) -> Parts | None:
    parts: Parts = {}
    for name in sorted(free, key=lambda name: (-free[name], name)):
        if taken := max(0, min(free[name], wanted)):
            parts[name] = taken
            wanted -= taken
    return parts if wanted == 0 else None


def find_grown_parts(free: Free, cost: Cost, parts: Parts, size_bytes: int) -> Parts | None:
    """What a volume takes that is to grow where it is; None: it does not fit."""
    if cost.shares == 0:
        return _spread_further(free, cost, parts, size_bytes)
    share = cost.share(size_bytes)
    if any(share - taken > free.get(name, 0) for name, taken in parts.items()):
        return None
    return {name: max(share, taken) for name, taken in parts.items()}


def _spread_further(free: Free, cost: Cost, parts: Parts, size_bytes: int) -> Parts | None:
    grown = dict(parts)
    wanted = max(0, cost.taken(size_bytes) - sum(parts.values()))
    # Where it is already comes first: a volume on few disks is lost with few.
    for name in sorted(free, key=lambda name: (name not in parts, -free[name], name)):
        if taken := max(0, min(free[name], wanted)):
            grown[name] = grown.get(name, 0) + taken
            wanted -= taken
    return grown if wanted == 0 else None


def largest_volume(free: Free, cost: Cost) -> int:
    """The largest volume that fits; 0: none does."""
    if cost.shares == 0:
        return cost.fitting(_sum(free))
    if len(free) < cost.shares:
        return 0
    largest_first = sorted(free.values(), reverse=True)
    return cost.fitting(largest_first[cost.shares - 1] * cost.shares)


def total_volumes(free: Free, cost: Cost) -> int:
    """The largest sum of volumes.

    Where shares of uneven extents come with overheads this is what creating the largest volume
    again and again gives: it can be had, though a cleverer mix may give a little more.
    """
    if cost.shares == 0:
        return _filling(_sum(free), cost)
    if cost.shares == 1:
        return sum(_filling(size, cost) for size in free.values())
    if _has_even_units(cost):
        return _paired(free, cost)
    return _one_after_the_other(free, cost)


def _sum(free: Free) -> int:
    return sum(max(0, size) for size in free.values())


def _filling(free_bytes: int, cost: Cost) -> int:
    """The sum of volumes that fill one extent."""
    largest = cost.fitting(free_bytes)
    if not largest:
        return 0
    number = free_bytes // cost.taken(largest)
    rest = free_bytes - number * cost.taken(largest)
    return number * largest + cost.fitting(rest)


def _has_even_units(cost: Cost) -> bool:
    """Whether a volume is nothing but so many units, each in equal shares."""
    in_shares = (cost.unit_bytes * cost.copies) % cost.shares == 0
    return in_shares and not cost.overhead_bytes and cost.smallest_bytes == cost.unit_bytes


def _paired(free: Free, cost: Cost) -> int:
    """Units with each share on another extent: as many as no single extent stands in the way of.

    With t units each extent can serve at most t of their shares, one for each; as long as that
    makes `shares * t` in all there is a way to deal them out.
    """
    share = cost.unit_bytes * cost.copies // cost.shares
    shares = [size // share for size in free.values() if size > 0]
    low, high = 0, sum(shares) // cost.shares
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(most, middle) for most in shares) >= middle * cost.shares:
            low = middle
        else:
            high = middle - 1
    return low * cost.unit_bytes


def _one_after_the_other(free: Free, cost: Cost) -> int:
    left, total = dict(free), 0
    while size := largest_volume(left, cost):
        parts = find_parts(left, cost, size)
        if parts is None:
            break
        total += size
        left = {name: size - parts.get(name, 0) for name, size in left.items()}
    return total
