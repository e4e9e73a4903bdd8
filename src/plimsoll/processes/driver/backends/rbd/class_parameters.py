"""What a class says about its images.

With `topologyConstrainedPools` the journal is in `pool`, and images are in the pools of the list.
`dataPool` and `imageFeatures` are those of ceph-csi.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.decide.ceph.constrained_pools import PARAMETER, ConstrainedPool
from plimsoll.processes.driver.backends.ceph.class_parameters import (
    DATA_POOL,
    SHARED_PARAMETERS,
    CephClass,
    ServedClusters,
    check_names,
    parse_class_overcommit,
    parse_group,
    parse_home,
    parse_pools,
    parse_prefix,
    parse_reach,
    parse_spread,
)
from plimsoll.processes.driver.backends.rbd.options import RbdOptions
from plimsoll.wire.csi.refusals import invalid_argument

PARAMETERS = SHARED_PARAMETERS | {DATA_POOL, "imageFeatures"}
FEATURES = frozenset({"layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"})
DEFAULT_FEATURES = "layering"


@dataclass(frozen=True, slots=True, kw_only=True)
class RbdClass(CephClass):
    journal_pool: str
    """In the own cluster."""
    features: tuple[str, ...]


def parse_class(
    parameters: Mapping[str, str], options: RbdOptions, served: ServedClusters
) -> RbdClass:
    """As the cluster sees it that has these options. Raises CsiStatusError (INVALID_ARGUMENT)."""
    check_names(parameters, PARAMETERS)
    group = parse_group(parameters)
    home = parse_home(parameters, served)
    pools = (parameters.get("pool", ""), options.pool)
    journal_pool = next(filter(None, pools if home == served.own else reversed(pools)), "")
    if not journal_pool:
        raise invalid_argument("parameters: pool: must be given; it has the journal of volumes")
    return RbdClass(
        journal_pool=journal_pool,
        home=home,
        own=served.own,
        pools=() if group else _pools(parameters, journal_pool, home, served),
        group=group,
        features=_features(parameters.get("imageFeatures", "") or DEFAULT_FEATURES),
        name_prefix=parse_prefix(parameters),
        spread=parse_spread(parameters),
        reach=parse_reach(parameters),
        overcommit=parse_class_overcommit(parameters),
    )


def _pools(
    parameters: Mapping[str, str], journal_pool: str, home: str, served: ServedClusters
) -> tuple[ConstrainedPool, ...]:
    if text := parameters.get(PARAMETER, ""):
        return parse_pools(text, home, served)
    data_pool = parameters.get(DATA_POOL, "")
    return (ConstrainedPool(name=journal_pool, data_pool=data_pool, cluster_id=home),)


def _features(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := sorted(set(names) - FEATURES):
        known = ", ".join(sorted(FEATURES))
        raise invalid_argument(f"parameters: imageFeatures: {unknown[0]}: known are {known}")
    return names
