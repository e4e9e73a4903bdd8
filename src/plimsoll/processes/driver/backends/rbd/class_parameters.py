"""What a class says about its volumes.

The parameters are those of ceph-csi: `pool`, `topologyConstrainedPools`, `dataPool`,
`imageFeatures`, `volumeNamePrefix`, `clusterID`. With `topologyConstrainedPools` the journal is in
`pool`, and images are in the pools of the list. Beyond that a class may name a group of pools that
are labelled in Ceph (`poolGroup`), how volumes spread over domains (`spread`), and from where they
can be reached (`reach`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.decide.ceph.constrained_pools import (
    PARAMETER,
    ConstrainedPool,
    parse_constrained_pools,
)
from plimsoll.decide.ceph.pool_choice import PoolSpread, VolumeReach
from plimsoll.processes.driver.backends.ceph.class_choices import REACH, SPREAD, parse_choice
from plimsoll.processes.driver.backends.rbd.options import RbdOptions
from plimsoll.wire.csi.refusals import invalid_argument

GROUP = "poolGroup"
PARAMETERS = frozenset(
    {
        "pool",
        PARAMETER,
        "dataPool",
        "imageFeatures",
        "volumeNamePrefix",
        "clusterID",
        GROUP,
        SPREAD,
        REACH,
    }
)
ENCRYPTION = frozenset({"encrypted", "encryptionKMSID", "encryptionType"})
FEATURES = frozenset({"layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"})
DEFAULT_FEATURES = "layering"
DEFAULT_PREFIX = "csi-vol-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RbdClass:
    journal_pool: str
    pools: tuple[ConstrainedPool, ...]
    """Where images may be; empty: in the pools of the group."""
    group: str
    features: tuple[str, ...]
    name_prefix: str
    spread: PoolSpread
    reach: VolumeReach

    def data_pool(self, pool: str) -> str:
        return next((item.data_pool for item in self.pools if item.name == pool), "")


def parse_class(parameters: Mapping[str, str], options: RbdOptions) -> RbdClass:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    _check_names(parameters, options)
    journal_pool = parameters.get("pool", "") or options.pool
    if not journal_pool:
        raise invalid_argument("parameters: pool: must be given; it has the journal of volumes")
    return RbdClass(
        journal_pool=journal_pool,
        pools=_pools(parameters, journal_pool),
        group=parameters.get(GROUP, ""),
        features=_features(parameters.get("imageFeatures", "") or DEFAULT_FEATURES),
        name_prefix=_prefix(parameters.get("volumeNamePrefix", "") or DEFAULT_PREFIX),
        spread=parse_choice(parameters, SPREAD, PoolSpread.FREE_SPACE),
        reach=parse_choice(parameters, REACH, VolumeReach.DOMAIN),
    )


def _check_names(parameters: Mapping[str, str], options: RbdOptions) -> None:
    if refused := sorted(parameters.keys() & ENCRYPTION):
        raise invalid_argument(f"parameters: {refused[0]}: volumes cannot be encrypted here")
    if unknown := sorted(parameters.keys() - PARAMETERS):
        known = ", ".join(sorted(PARAMETERS))
        raise invalid_argument(f"parameters: unknown {', '.join(unknown)}; known are {known}")
    if GROUP in parameters and (both := sorted(parameters.keys() & {PARAMETER, "dataPool"})):
        raise invalid_argument(f"parameters: {GROUP}: cannot be given together with {both[0]}")
    wanted = parameters.get("clusterID", "")
    if wanted and options.cluster_id and wanted != options.cluster_id:
        raise invalid_argument(
            f"parameters: clusterID: {wanted}: this driver serves {options.cluster_id}"
        )


def _pools(parameters: Mapping[str, str], journal_pool: str) -> tuple[ConstrainedPool, ...]:
    if GROUP in parameters:
        return ()
    text = parameters.get(PARAMETER, "")
    if not text:
        return (ConstrainedPool(name=journal_pool, data_pool=parameters.get("dataPool", "")),)
    try:
        pools = parse_constrained_pools(text)
    except ValueError as error:
        raise invalid_argument(f"parameters: {error}") from error
    if any(pool.cluster_id for pool in pools):
        raise invalid_argument(f"parameters: {PARAMETER}: this driver serves one cluster only")
    return pools


def _features(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := sorted(set(names) - FEATURES):
        known = ", ".join(sorted(FEATURES))
        raise invalid_argument(f"parameters: imageFeatures: {unknown[0]}: known are {known}")
    return names


def _prefix(text: str) -> str:
    """It becomes part of paths on nodes, and of names that tools of Ceph read."""
    allowed = text.replace("-", "").replace("_", "").replace(".", "")
    if not (allowed.isascii() and allowed.isalnum()) or text[0] in ".-" or len(text) > LONGEST:
        raise invalid_argument(
            f"parameters: volumeNamePrefix: {text[:LONGEST]!r}: letters, digits, dots, dashes and"
            f" underscores, at most {LONGEST}"
        )
    return text


LONGEST = 64
