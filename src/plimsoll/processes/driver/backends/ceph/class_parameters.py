"""What classes for images and classes for directories say in the same words.

The parameters are those of ceph-csi. Beyond that a class may say how volumes spread over domains
(`spread`), from where they can be reached (`reach`), and how many bytes are promised for each that
there is (`overcommit`). Instead of a list of pools it may name a group of pools that are labelled
in Ceph (`poolGroup`). An entry of `topologyConstrainedPools` may name the cluster of its pool
(`clusterID`); all others are in the cluster of the class, which is the driver's own one unless the
class names one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

from plimsoll.decide.ceph.constrained_pools import (
    PARAMETER,
    ConstrainedPool,
    parse_constrained_pools,
)
from plimsoll.decide.ceph.pool_capacity import parse_overcommit
from plimsoll.decide.ceph.pool_choice import PoolSpread, VolumeReach
from plimsoll.wire.csi.refusals import invalid_argument

SPREAD, REACH, OVERCOMMIT = "spread", "reach", "overcommit"
GROUP, DATA_POOL = "poolGroup", "dataPool"
SHARED_PARAMETERS = frozenset(
    {"pool", PARAMETER, GROUP, "volumeNamePrefix", "clusterID", SPREAD, REACH, OVERCOMMIT}
)
ENCRYPTION = frozenset({"encrypted", "encryptionKMSID", "encryptionType"})
DEFAULT_PREFIX = "csi-vol-"
LONGEST = 64

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedClusters:
    """Of the clusters that a driver serves, the one that is looked from."""

    own: str
    """What it is called; empty: by any name."""
    default: str
    """The one of classes that name none."""
    names: frozenset[str]


def one_cluster(name: str) -> ServedClusters:
    """The driver serves no other."""
    return ServedClusters(own=name, default=name, names=frozenset({name}))


@dataclass(frozen=True, slots=True, kw_only=True)
class CephClass:
    """A class as one of the clusters sees it."""

    home: str
    """The cluster of the class, whose journal knows all of its volumes."""
    own: str
    pools: tuple[ConstrainedPool, ...]
    """Where volumes may be, each with its cluster; empty: in the pools of the group."""
    group: str = ""
    name_prefix: str
    spread: PoolSpread
    reach: VolumeReach
    overcommit: Fraction | None = None
    """None: that of the cluster where a pool is."""

    @property
    def own_pools(self) -> tuple[ConstrainedPool, ...]:
        return tuple(pool for pool in self.pools if pool.cluster_id == self.own)

    @property
    def is_here(self) -> bool:
        """Whether the own cluster has, or may get, volumes of it, or knows of all of them."""
        return self.own == self.home or bool(self.own_pools)

    @property
    def is_spread_over_clusters(self) -> bool:
        return any(pool.cluster_id != self.home for pool in self.pools)


def check_names(parameters: Mapping[str, str], known: Collection[str]) -> None:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    if refused := sorted(parameters.keys() & ENCRYPTION):
        raise invalid_argument(f"parameters: {refused[0]}: volumes cannot be encrypted here")
    if unknown := sorted(parameters.keys() - set(known)):
        told = ", ".join(sorted(known))
        raise invalid_argument(f"parameters: unknown {', '.join(unknown)}; known are {told}")


def parse_home(parameters: Mapping[str, str], served: ServedClusters) -> str:
    """The cluster of the class. Raises CsiStatusError (INVALID_ARGUMENT)."""
    wanted = parameters.get("clusterID", "")
    if not wanted or not served.default:
        return served.default
    _check_cluster(wanted, "clusterID", served)
    return wanted


def parse_group(parameters: Mapping[str, str]) -> str:
    """Empty: the class says itself which pools it has. Raises CsiStatusError (INVALID_ARGUMENT)."""
    if GROUP not in parameters:
        return ""
    if both := sorted(parameters.keys() & {PARAMETER, DATA_POOL}):
        raise invalid_argument(f"parameters: {GROUP}: cannot be given together with {both[0]}")
    if not parameters[GROUP]:
        raise invalid_argument(f"parameters: {GROUP}: must name a group of pools, or be left out")
    return parameters[GROUP]


def parse_pools(text: str, home: str, served: ServedClusters) -> tuple[ConstrainedPool, ...]:
    """Each with its cluster. Raises CsiStatusError (INVALID_ARGUMENT)."""
    try:
        pools = parse_constrained_pools(text)
    except ValueError as error:
        raise invalid_argument(f"parameters: {error}") from error
    for pool in pools:
        if pool.cluster_id:
            _check_cluster(pool.cluster_id, f"{PARAMETER}: clusterID", served)
    return tuple(replace(pool, cluster_id=pool.cluster_id or home) for pool in pools)


def _check_cluster(name: str, where: str, served: ServedClusters) -> None:
    if name not in served.names:
        known = ", ".join(sorted(served.names - {""})) or "one whose name it was not told"
        raise invalid_argument(f"parameters: {where}: {name[:LONGEST]}: this driver serves {known}")


def parse_prefix(parameters: Mapping[str, str]) -> str:
    """It becomes part of paths, and of names that tools of Ceph read. Raises CsiStatusError
    (INVALID_ARGUMENT)."""
    text = parameters.get("volumeNamePrefix", "") or DEFAULT_PREFIX
    allowed = text.replace("-", "").replace("_", "").replace(".", "")
    if not (allowed.isascii() and allowed.isalnum()) or text[0] in ".-" or len(text) > LONGEST:
        raise invalid_argument(
            f"parameters: volumeNamePrefix: {text[:LONGEST]!r}: letters, digits, dots, dashes and"
            f" underscores, at most {LONGEST}"
        )
    return text


def parse_spread(parameters: Mapping[str, str]) -> PoolSpread:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    return _parse_choice(parameters, SPREAD, PoolSpread.FREE_SPACE)


def parse_reach(parameters: Mapping[str, str]) -> VolumeReach:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    return _parse_choice(parameters, REACH, VolumeReach.DOMAIN)


def parse_class_overcommit(parameters: Mapping[str, str]) -> Fraction | None:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    text = parameters.get(OVERCOMMIT, "")
    try:
        return parse_overcommit(text) if text else None
    except ValueError as error:
        raise invalid_argument(f"parameters: {error}") from error


def _parse_choice(parameters: Mapping[str, str], name: str, default: Choice) -> Choice:
    text = parameters.get(name, "")
    kind = type(default)
    if text and text not in {each.value for each in kind}:
        known = ", ".join(each.value for each in kind)
        raise invalid_argument(f"parameters: {name}: {text[:LONGEST]!r} is none of {known}")
    return kind(text) if text else default
