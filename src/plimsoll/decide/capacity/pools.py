"""Which pools are behind a capacity object, and what a volume of its class takes from them.

Two capacity objects that name the same pool of one driver draw on the same bytes. A driver says so
through ListPools, and the publisher writes it on each object. Where a driver does not, an
administrator can say on the class which pool it shares with other classes, and at which cost. What
cannot be read is ignored: the object is then about bytes of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from plimsoll.api.storage import StorageClass
from plimsoll.decide.capacity.volume_sizes import Cost

POOLS = "plimsoll.dev/pools"
"""On a capacity object: the pools behind it, as `pools_text` writes them."""
CLASS_POOL = "plimsoll.dev/pool"
"""On a class: in each segment it shares its bytes with the other classes of its driver that name
the same pool."""
CLASS_POOL_COST = "plimsoll.dev/pool-cost"
"""On a class: how many bytes of the pool one byte of a volume takes. 1, if it is not there."""

MAX_TEXT = 16 * 1024
"""Characters. An object carries at most 256 KiB of annotations, and every scheduler keeps them."""
MAX_COST = 1000
MAX_NAME = 253
MAX_BYTES = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPool:
    """A pool as one capacity object shows it."""

    name: str
    """The same in all objects of the driver that are about the same bytes."""
    free: Mapping[str, int]
    """Free bytes by the name of the extent."""
    cost: Cost
    """Of a volume of the object's class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPool(PublishedPool):
    """A pool as a driver lists it."""

    topology: tuple[Mapping[str, str], ...] = ()
    """Every segment that reaches it; none: all do."""


class _CostText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    copies: int = 1
    shares: int = 1
    unit: int = 1
    overhead: int = 0
    minimum: int = 1


class _PoolText(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    free: dict[str, int]
    cost: _CostText = _CostText()


def pools_text(pools: Iterable[PublishedPool]) -> str | None:
    """The same for the same pools; None: it would be longer than an annotation should be."""
    told = [
        _PoolText(name=pool.name, free=dict(sorted(pool.free.items())), cost=_cost_text(pool.cost))
        for pool in sorted(pools, key=lambda pool: pool.name)
    ]
    text = msgspec.json.encode(told).decode()
    return text if len(text) <= MAX_TEXT else None


def _cost_text(cost: Cost) -> _CostText:
    return _CostText(
        copies=cost.copies,
        shares=cost.shares,
        unit=cost.unit_bytes,
        overhead=cost.overhead_bytes,
        minimum=cost.minimum_bytes,
    )


def parse_pools(text: str) -> tuple[PublishedPool, ...]:
    """Raises ValueError, as any user with access to the object may have written it."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"{POOLS}: is longer than {MAX_TEXT} characters")
    try:
        told = msgspec.json.decode(text, type=list[_PoolText])
    except msgspec.DecodeError as error:
        raise ValueError(f"{POOLS}: {error}") from error
    pools = tuple(
        PublishedPool(name=each.name, free=each.free, cost=_cost(each.cost)) for each in told
    )
    for pool in pools:
        check_pool(pool)
    if len({pool.name for pool in pools}) < len(pools):
        raise ValueError(f"{POOLS}: a pool is named twice")
    return pools


def _cost(told: _CostText) -> Cost:
    return Cost(
        copies=told.copies,
        shares=told.shares,
        unit_bytes=told.unit,
        overhead_bytes=told.overhead,
        minimum_bytes=told.minimum,
    )


def check_pool(pool: PublishedPool) -> None:
    """Raises ValueError if a number makes no sense."""
    cost = pool.cost
    if not 0 < len(pool.name) <= MAX_NAME:
        raise ValueError(f"{POOLS}: a pool needs a name of at most {MAX_NAME} characters")
    if not all(0 <= free <= MAX_BYTES for free in pool.free.values()):
        raise ValueError(f"{POOLS}: pool {pool.name} has an impossible number of free bytes")
    at_least_one = (cost.copies, cost.unit_bytes)
    at_least_zero = (cost.shares, cost.overhead_bytes, cost.minimum_bytes)
    are_possible = all(0 < each <= MAX_BYTES for each in at_least_one)
    if not are_possible or not all(0 <= each <= MAX_BYTES for each in at_least_zero):
        raise ValueError(f"{POOLS}: pool {pool.name} has an impossible cost")


def reaching(segment: Mapping[str, str], pools: Iterable[ListedPool]) -> list[ListedPool]:
    """The pools whose volumes are reachable from the segment. A key that only one of the two names
    says nothing against it."""
    return [
        pool
        for pool in pools
        if not pool.topology or any(_agree(own, segment) for own in pool.topology)
    ]


def _agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(other.get(key, value) == value for key, value in one.items())


# What a class says


@dataclass(frozen=True, slots=True)
class ClassPool:
    """The pool that a class draws on, as its annotations say."""

    name: str
    cost: Fraction = Fraction(1)

    def taken(self, size_bytes: int) -> int:
        """What a volume takes from the pool."""
        return -(-size_bytes * self.cost.numerator // self.cost.denominator)

    def free(self, capacity_bytes: int) -> int:
        """What is free in the pool, if there is so much capacity for volumes of the class."""
        return capacity_bytes * self.cost.numerator // self.cost.denominator


def parse_class_pool(storage_class: StorageClass) -> ClassPool | None:
    """None: the class says nothing. Raises ValueError if what it says makes no sense."""
    name = storage_class.annotations.get(CLASS_POOL)
    cost = storage_class.annotations.get(CLASS_POOL_COST)
    if name is None and cost is None:
        return None
    about = f"class {storage_class.name}: annotation"
    if not name or len(name) > MAX_NAME:
        raise ValueError(f"{about} {CLASS_POOL} must name a pool in at most {MAX_NAME} characters")
    if cost is None:
        return ClassPool(name)
    return ClassPool(name, _parse_cost(cost, f"{about} {CLASS_POOL_COST}"))


def _parse_cost(text: str, about: str) -> Fraction:
    whole, point, rest = text.partition(".")
    digits = whole + rest
    is_number = digits.isascii() and digits.isdigit() and bool(whole) and bool(rest) == bool(point)
    cost = Fraction(text) if is_number and len(text) <= len("1000.0000") else Fraction(0)
    if not 0 < cost <= MAX_COST:
        raise ValueError(f"{about} must be a number above 0 and up to {MAX_COST}, such as 2 or 1.5")
    return cost


def find_class_pool(storage_class: StorageClass) -> ClassPool | None:
    """None also where what the class says makes no sense."""
    try:
        return parse_class_pool(storage_class)
    except ValueError:
        return None


def find_pools(annotations: Mapping[str, str]) -> Sequence[PublishedPool] | None:
    """Of a capacity object; None: it names none, or makes no sense."""
    text = annotations.get(POOLS)
    if text is None:
        return None
    try:
        return parse_pools(text)
    except ValueError:
        return None
