"""What a class says about its volumes.

The parameters are those of ceph-csi, which calls the pool of the content `pool`, and
`topologyConstrainedPools` as for images. The journal is in the metadata pool of the file system,
whatever a class says. As for images a class may say how volumes spread over domains (`spread`), and
from where they can be reached (`reach`).
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
from plimsoll.processes.driver.backends.cephfs.options import CephfsOptions
from plimsoll.wire.csi.refusals import invalid_argument

PARAMETERS = frozenset(
    {"fsName", "pool", PARAMETER, "volumeNamePrefix", "clusterID", SPREAD, REACH}
)
ENCRYPTION = frozenset({"encrypted", "encryptionKMSID", "encryptionType"})
DEFAULT_PREFIX = "csi-vol-"
LONGEST_PREFIX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class CephfsClass:
    pools: tuple[ConstrainedPool, ...]
    """Where the content of volumes may go."""
    name_prefix: str
    spread: PoolSpread
    reach: VolumeReach


def parse_cephfs_class(parameters: Mapping[str, str], options: CephfsOptions) -> CephfsClass:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    _check_names(parameters)
    _check_same(parameters, "clusterID", options.cluster_id)
    _check_same(parameters, "fsName", options.fs_name)
    return CephfsClass(
        pools=_pools(parameters, options),
        name_prefix=_prefix(parameters.get("volumeNamePrefix", "") or DEFAULT_PREFIX),
        spread=parse_choice(parameters, SPREAD, PoolSpread.FREE_SPACE),
        reach=parse_choice(parameters, REACH, VolumeReach.DOMAIN),
    )


def _check_names(parameters: Mapping[str, str]) -> None:
    if refused := sorted(parameters.keys() & ENCRYPTION):
        raise invalid_argument(f"parameters: {refused[0]}: volumes cannot be encrypted here")
    if unknown := sorted(parameters.keys() - PARAMETERS):
        known = ", ".join(sorted(PARAMETERS))
        raise invalid_argument(f"parameters: unknown {', '.join(unknown)}; known are {known}")


def _check_same(parameters: Mapping[str, str], name: str, own: str) -> None:
    wanted = parameters.get(name, "")
    if wanted and own and wanted != own:
        raise invalid_argument(f"parameters: {name}: {wanted}: this driver serves {own}")


def _pools(parameters: Mapping[str, str], options: CephfsOptions) -> tuple[ConstrainedPool, ...]:
    text, single = parameters.get(PARAMETER, ""), parameters.get("pool", "") or options.pool
    if text:
        return _constrained(text)
    if not single:
        raise invalid_argument(
            f"parameters: {PARAMETER} or pool must be given: it says where content goes"
        )
    return (ConstrainedPool(name=single),)


def _constrained(text: str) -> tuple[ConstrainedPool, ...]:
    try:
        pools = parse_constrained_pools(text)
    except ValueError as error:
        raise invalid_argument(f"parameters: {error}") from error
    if any(pool.cluster_id for pool in pools):
        raise invalid_argument(f"parameters: {PARAMETER}: this driver serves one cluster only")
    if any(pool.data_pool for pool in pools):
        raise invalid_argument(
            f"parameters: {PARAMETER}: dataPool is for images; poolName has the content here"
        )
    return pools


def _prefix(text: str) -> str:
    """It becomes part of paths."""
    allowed = text.replace("-", "").replace("_", "").replace(".", "")
    if not (allowed.isascii() and allowed.isalnum()) or text[0] in ".-":
        raise invalid_argument(f"parameters: volumeNamePrefix: {text[:LONGEST_PREFIX]!r}: is none")
    if len(text) > LONGEST_PREFIX:
        raise invalid_argument(
            f"parameters: volumeNamePrefix: has more than {LONGEST_PREFIX} characters"
        )
    return text
