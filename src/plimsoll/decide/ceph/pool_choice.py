"""Which pool a volume goes to, what the driver answers about its topology, and why.

A delay-bound claim gets a pool near the first preferred segment, or none: its pod was scheduled
there. Any other volume goes where most bytes are free for each volume, among all segments that are
allowed, or to one of them by chance if the class asks for that. Where no pool is near the first
preferred segment, the class knows fewer domains than there are, and the volume is placed as one of
a claim that is bound immediately. No volume leaves the allowed segments, and none goes to a pool
that cannot hold it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from plimsoll.api.quantity import Format, Quantity
from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, PoolKey
from plimsoll.decide.ceph.domain_labels import DomainLabels, topology_prefix
from plimsoll.decide.ceph.label_names import short_name
from plimsoll.decide.ceph.pool_capacity import CephPoolState
from plimsoll.decide.ceph.takeover.served_labels import SERVED, find_path, served_label
from plimsoll.decide.provisioning.calls import AccessibilityRequirement, Segment

MIB = 1 << 20
NOTHING = Fraction(0)

PoolStates = Mapping[PoolKey, CephPoolState]


class PoolSpread(StrEnum):
    """How a volume without a wanted domain finds one."""

    FREE_SPACE = "FreeSpace"
    RANDOM = "Random"


class VolumeReach(StrEnum):
    """From where the driver says that a volume can be reached."""

    ANYWHERE = "Anywhere"
    """Ceph can be; near its domain it is only cheaper."""
    DOMAIN = "Domain"
    """From the domain of its pool."""
    SERVED_DOMAIN = "ServedDomain"
    """From the nodes that serve that domain, also after a takeover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRequest:
    size_bytes: int
    domains: DomainLabels
    requirement: AccessibilityRequirement | None
    is_delayed: bool = False
    """Whether the first preferred segment is that of a selected node."""
    spread: PoolSpread = PoolSpread.FREE_SPACE
    reach: VolumeReach = VolumeReach.DOMAIN
    snapshot_pool: PoolKey | None = None
    """A volume is restored in the pool of its snapshot."""
    chance: float = 0.0
    """From 0 to below 1; chooses among domains where the class asks for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPool:
    pool: ConstrainedPool
    topology: tuple[Segment, ...]
    """What CreateVolume answers; empty: reachable from anywhere."""
    preferred: Segment
    """The domain that the data is near, whatever the topology says."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCapacityInPools:
    """Pools are near the wanted domains, and none can hold the volume: `ResourceExhausted`."""

    reason: str
    unmeasured: tuple[str, ...] = ()
    """Of these pools it is not known yet: the answer is no last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPoolAllowed:
    """No pool is near any domain that is allowed: `ResourceExhausted` as well, for other nodes."""

    reason: str


PoolChoice = ChosenPool | NoCapacityInPools | NoPoolAllowed


@dataclass(frozen=True, slots=True)
class _Place:
    """A pool, and a segment that is allowed and near it."""

    pool: ConstrainedPool
    segment: Segment
    state: CephPoolState | None
    """None: Ceph does not know the pool."""

    def holds(self, size_bytes: int) -> bool:
        return self.state is not None and self.state.free_bytes >= size_bytes

    @property
    def free_for_each(self) -> Fraction:
        return Fraction(self.state.free_bytes, self.state.volumes + 1) if self.state else NOTHING

    @property
    def shown(self) -> str:
        if self.state is None:
            return "not known to Ceph"
        if not self.state.is_measured:
            return "Ceph has not told yet how much is free"
        return f"{_size(self.state.free_bytes)} free, {self.state.volumes} volumes"


def choose_pool(
    pools: Sequence[ConstrainedPool], states: PoolStates, request: PoolRequest
) -> PoolChoice:
    usable = _usable(pools, request)
    places = list(_places(usable, states, request))
    if not places:
        return NoPoolAllowed(reason=_no_pool(usable, request))
    if request.snapshot_pool:
        return _first_with_capacity(places, request, "the snapshot is in it")
    first = _selected(request)
    if first is None:
        return _spread(places, request, "")
    wanted = [place for place in places if place.segment == first]
    if wanted:
        return _first_with_capacity(
            wanted, request, f"{_shown(first)} is the first preferred domain"
        )
    return _spread(
        places, request, f"no pool is near {_shown(first)}, so any allowed domain does: "
    )


def _usable(pools: Sequence[ConstrainedPool], request: PoolRequest) -> list[ConstrainedPool]:
    return [pool for pool in pools if request.snapshot_pool in (None, pool.key)]


def _selected(request: PoolRequest) -> Segment | None:
    """The segment of the selected node; None: there is none."""
    if not request.is_delayed or request.requirement is None:
        return None
    preferred = request.requirement.preferred
    return next((segment for segment in _allowed(request) if segment in preferred), None)


def _allowed(request: PoolRequest) -> Iterator[Segment]:
    """Each segment once, the preferred ones first; none that is not requisite."""
    requirement = request.requirement
    if requirement is None:
        return
    requisite = requirement.requisite or requirement.preferred
    seen: list[Segment] = []
    for segment in (*requirement.preferred, *requisite):
        if segment in requisite and segment not in seen:
            seen.append(segment)
            yield segment


def _places(
    pools: Sequence[ConstrainedPool], states: PoolStates, request: PoolRequest
) -> Iterator[_Place]:
    """By segment, in their order, and then in the order of the list."""
    if request.requirement is None:
        prefix = topology_prefix(request.domains.driver)
        for pool in pools:
            own = {f"{prefix}/{label}": value for label, value in pool.segments}
            yield _Place(pool, own, states.get(pool.key))
    for segment in _allowed(request):
        domains = _domains(segment, request.domains.driver)
        for pool in pools:
            if all(domains.get(label) == value for label, value in pool.segments):
                yield _Place(pool, segment, states.get(pool.key))


def _domains(segment: Segment, driver: str) -> dict[str, str]:
    """Values by short name; the driver's own keys count more than others of the same name."""
    prefix = topology_prefix(driver) + "/"
    keys = sorted(segment, key=lambda key: (key.startswith(prefix), key))
    return {short_name(key): segment[key] for key in keys}


def _first_with_capacity(places: Sequence[_Place], request: PoolRequest, why: str) -> PoolChoice:
    fitting = _fitting(places, request)
    return _chosen(fitting[0], request, why) if fitting else _no_capacity(places, request)


def _spread(places: Sequence[_Place], request: PoolRequest, note: str) -> PoolChoice:
    fitting = _fitting(places, request)
    if not fitting:
        return _no_capacity(places, request)
    if request.spread is PoolSpread.RANDOM:
        return _drawn(fitting, request, note)
    chosen = min(fitting, key=lambda place: (-place.free_for_each, place.pool.key))
    number = len({place.pool.key for place in fitting})
    why = f"of {number} pools with room it has most free bytes for each volume"
    return _chosen(chosen, request, note + why)


def _drawn(fitting: Sequence[_Place], request: PoolRequest, note: str) -> ChosenPool:
    """By domain, not by pool: a domain with two pools is not twice as likely."""
    segments = [place.segment for place in fitting]
    domains = [segment for at, segment in enumerate(segments) if segment not in segments[:at]]
    drawn = domains[int(request.chance * len(domains))]
    chosen = next(place for place in fitting if place.segment == drawn)
    why = f"{_shown(drawn)} was drawn from {len(domains)} domains with room"
    return _chosen(chosen, request, note + why)


def _fitting(places: Iterable[_Place], request: PoolRequest) -> list[_Place]:
    return [place for place in places if place.holds(request.size_bytes)]


def _chosen(place: _Place, request: PoolRequest, why: str) -> ChosenPool:
    preferred = _own_segment(place, request)
    return ChosenPool(
        pool=place.pool,
        topology=_topology(place, preferred, request),
        preferred=preferred,
        reason=f"Pool {place.pool.name}: {why} ({place.shown}).",
    )


def _own_segment(place: _Place, request: PoolRequest) -> dict[str, str]:
    """The keys of the request that the pool names: a regional pool pins no volume to a zone."""
    named = {label for label, _ in place.pool.segments}
    prefix = topology_prefix(request.domains.driver) + "/"
    keys = sorted(place.segment, key=lambda key: (key.startswith(prefix), key))
    key_by_label = {short_name(key): key for key in keys if short_name(key) in named}
    return {key: place.segment[key] for key in key_by_label.values()}


def _topology(
    place: _Place, preferred: dict[str, str], request: PoolRequest
) -> tuple[Segment, ...]:
    if request.reach is VolumeReach.ANYWHERE or not preferred:
        return ()
    if request.reach is VolumeReach.SERVED_DOMAIN:
        domains = _domains(place.segment, request.domains.driver)
        named = [label for label, _ in place.pool.segments]
        # The driver knows more levels than most clusters have: nodes without a region are in none.
        levels = [level for level in request.domains.levels if level in domains]
        if path := find_path(levels, domains, named):
            return ({served_label(request.domains.driver, path): SERVED},)
    return (preferred,)


def _no_capacity(places: Sequence[_Place], request: PoolRequest) -> NoCapacityInPools:
    shown = {place.pool.name: place.shown for place in places}
    seen = "; ".join(f"{name}: {shown[name]}" for name in sorted(shown))
    needed = f"The volume needs {_size(request.size_bytes)}, which no pool there has"
    unmeasured = {
        place.pool.name for place in places if place.state and not place.state.is_measured
    }
    return NoCapacityInPools(reason=f"{needed} ({seen}).", unmeasured=tuple(sorted(unmeasured)))


def _no_pool(usable: Sequence[ConstrainedPool], request: PoolRequest) -> str:
    if request.snapshot_pool and not usable:
        name = request.snapshot_pool.name
        return f"The snapshot is in pool {name}, which the class does not name."
    allowed = "; ".join(_shown(segment) for segment in _allowed(request)) or "anywhere"
    return f"No pool of the class is near a domain that is allowed: {allowed}."


def _shown(segment: Segment) -> str:
    return ",".join(f"{short_name(key)}={segment[key]}" for key in sorted(segment))


def _size(size_bytes: int) -> str:
    """In whole MiB, where there is one: no reader wants to see more digits."""
    rounded = size_bytes // MIB * MIB or size_bytes
    return Quantity(rounded, format=Format.BINARY_SI).canonical
