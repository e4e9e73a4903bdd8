"""How pools are described, and which of them a class means.

    pools:
    - name: fast-a
      size: 100Gi
      topology: {zone: a}                # or several: [{zone: a}, {zone: b}]; none: everywhere
      kind: fast
      latency: 50ms
      copies: [{zone: a}, {zone: a}, {zone: b}]   # where its data is; none: once, in its topology
      minCopies: 1                       # without so many it stands still; none: half of them
    levels: [zone, rack]                 # of domains, from wide to narrow

A class chooses with the parameters `pool` (a name), `kind`, and `domains`: in how many pools of
different segments the whole volume is kept. `reach` says from where its volumes can be reached:
from the `Domain` of their pool; from `Anywhere`, although they are cheaper to use near it; or, with
`ServedDomain`, from the nodes that serve the domain of their pool, also after a takeover.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from plimsoll.api.sizes import parse_size
from plimsoll.decide.ceph.pool_choice import VolumeReach
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.decide.ceph.takeover.served_labels import SERVED, find_path, served_label
from plimsoll.processes.driver.backends.counts import parse_count
from plimsoll.processes.driver.backends.protocol import BackendRequest, VolumeLayout
from plimsoll.processes.driver.mount_options import BIND
from plimsoll.processes.driver.records import VolumeMode
from plimsoll.processes.driver.settings import BackendSettings, SetupError
from plimsoll.runtime.config import parse_duration
from plimsoll.wire.csi.refusals import invalid_argument

MEBIBYTE = 1024**2
PARAMETERS = frozenset({"pool", "kind", "domains", "reach"})
MUTABLE = frozenset({"iops", "throughput"})
MOST_DOMAINS = 5
MOST_PER_SECOND = 10**12
USUAL_LEVELS = ("region", "zone", "rack")
"""From wide to narrow, as far as nodes and pools name them."""


class _PoolEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    size: str | int
    topology: dict[str, str] | tuple[dict[str, str], ...] = ()
    kind: str = ""
    latency: str = "0"
    copies: tuple[dict[str, str], ...] = ()
    min_copies: int = msgspec.field(default=0, name="minCopies")


class _Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pools: tuple[_PoolEntry, ...] = ()
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    name: str
    """Classes choose it by the parameter `pool`."""
    size_bytes: int
    """What volumes and snapshots may take in sum."""
    topology: tuple[Mapping[str, str], ...] = ()
    """The segments that reach it, with full keys; empty: all do."""
    kind: str = ""
    """Classes choose it, with others of its kind, by the parameter `kind`."""
    latency: timedelta = timedelta()
    """How long every call takes at least."""
    copies: tuple[Mapping[str, str], ...] = ()
    """The segment of each copy of its data."""
    min_copies: int = 1
    """Without so many it can neither be read nor written."""
    served_from: tuple[Mapping[str, str], ...] = ()
    """The labels of nodes that serve its domains; empty: its segments are none of a level."""

    def copies_in(self, domain: Mapping[str, str]) -> PoolCopies:
        inside = sum(domain.items() <= copy.items() for copy in self.copies)
        return PoolCopies(
            pool=self.name, size=len(self.copies), min_size=self.min_copies, inside=inside
        )


def parse_pools(options: Mapping[str, Any], settings: BackendSettings) -> tuple[PoolSettings, ...]:
    """Sorted by name. Raises SetupError."""
    where = f"pools: {settings.options_source}" if settings.options_source else "pools"
    try:
        given = msgspec.convert(options, _Options)
        levels = given.levels or _usual_levels(given.pools)
        pools = [_pool(entry, settings, levels) for entry in given.pools]
    except (msgspec.ValidationError, ValueError) as error:
        raise SetupError(f"{where}: {str(error).replace('`', '')}") from error
    names = [pool.name for pool in pools]
    if not pools:
        raise SetupError(
            f"{where}: none are described; name at least one, with its size, in --pools"
        )
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise SetupError(f"{where}: several are called {', '.join(repeated)}")
    return tuple(sorted(pools, key=lambda pool: pool.name))


def _usual_levels(entries: Sequence[_PoolEntry]) -> tuple[str, ...]:
    named = {name for entry in entries for segment in _segments(entry) for name in segment}
    return tuple(level for level in USUAL_LEVELS if level in named)


def _segments(entry: _PoolEntry) -> tuple[dict[str, str], ...]:
    given = (entry.topology,) if isinstance(entry.topology, dict) else entry.topology
    return tuple(segment for segment in given if segment)


def _pool(entry: _PoolEntry, settings: BackendSettings, levels: tuple[str, ...]) -> PoolSettings:
    segments = _segments(entry)
    # A number is what a program wrote: bytes. People write text, with a unit.
    size = entry.size if isinstance(entry.size, int) else parse_size(entry.size)
    if not entry.name or size < 0:
        raise ValueError(f"{entry.name or 'one without a name'}: needs a name and a size")
    if 0 < size < MEBIBYTE:
        raise ValueError(f"{entry.name}: size: {size} bytes hold no volume; write it like 10Gi")
    copies = entry.copies or segments[:1] or ({},)
    if not 0 <= entry.min_copies <= len(copies):
        raise ValueError(f"{entry.name}: minCopies: must be 0 to {len(copies)}, its copies")
    return PoolSettings(
        name=entry.name,
        size_bytes=size,
        topology=_keyed(segments, settings),
        kind=entry.kind,
        latency=parse_duration(entry.latency),
        copies=_keyed(copies, settings),
        min_copies=entry.min_copies or len(copies) - len(copies) // 2,
        served_from=_served_from(segments, settings.driver_name, levels),
    )


def _keyed(
    segments: Sequence[Mapping[str, str]], settings: BackendSettings
) -> tuple[Mapping[str, str], ...]:
    return tuple(
        {settings.key(name): value for name, value in segment.items()} for segment in segments
    )


def _served_from(
    segments: Sequence[Mapping[str, str]], driver: str, levels: tuple[str, ...]
) -> tuple[Mapping[str, str], ...]:
    paths = [find_path(levels, segment, tuple(segment)) for segment in segments]
    if None in paths:
        return ()
    return tuple({served_label(driver, path): SERVED} for path in paths if path)


def layout_of(request: BackendRequest, pools: Sequence[PoolSettings]) -> VolumeLayout:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    parameters = request.parameters
    if unknown := sorted(parameters.keys() - PARAMETERS):
        known = ", ".join(sorted(PARAMETERS))
        raise invalid_argument(f"parameters: unknown {', '.join(unknown)}; known are {known}")
    for name in request.mutable_parameters:
        parse_count(request.mutable_parameters, name, least=1, most=MOST_PER_SECOND)
    return VolumeLayout(
        unit_bytes=MEBIBYTE,
        minimum_bytes=MEBIBYTE,
        domains=_domains(parameters),
        pools=_chosen(parameters, pools),
        reach=_reach(parameters),
        served_from=_served(parameters, pools),
        mounted_as="" if request.mode is VolumeMode.BLOCK else BIND,
    )


def _chosen(parameters: Mapping[str, str], pools: Sequence[PoolSettings]) -> frozenset[str] | None:
    wanted = {name: parameters[name] for name in ("pool", "kind") if name in parameters}
    if not wanted:
        return None
    found = frozenset(
        pool.name
        for pool in pools
        if wanted.get("pool", pool.name) == pool.name and wanted.get("kind", pool.kind) == pool.kind
    )
    if not found:
        listed = ", ".join(f"{name}={value}" for name, value in sorted(wanted.items()))
        raise invalid_argument(f"parameters: no pool has {listed}")
    return found


def _reach(parameters: Mapping[str, str]) -> VolumeReach | None:
    if "reach" not in parameters:
        return None
    for reach in VolumeReach:
        if reach == parameters["reach"]:
            return reach
    raise invalid_argument(f"parameters: reach: write {' or '.join(VolumeReach)}")


def _served(
    parameters: Mapping[str, str], pools: Sequence[PoolSettings]
) -> dict[str, tuple[Mapping[str, str], ...]]:
    if parameters.get("reach") != VolumeReach.SERVED_DOMAIN:
        return {}
    return {pool.name: pool.served_from for pool in pools if pool.served_from}


def _domains(parameters: Mapping[str, str]) -> int:
    if "domains" not in parameters:
        return 1
    return parse_count(parameters, "domains", least=1, most=MOST_DOMAINS)
