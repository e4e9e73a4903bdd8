"""What a class says about its directories.

`pool` is the pool of their content, as ceph-csi calls it; with `topologyConstrainedPools` it is in
the pools of the list, and with `poolGroup` in the data pools of the file system that are
labelled with that group. The journal is in the metadata pool of the file system, whatever a class
says. `fsName` is the file system in the cluster of the class; a further cluster has the one that
the driver was told with it.
"""

from collections.abc import Mapping

from plimsoll.decide.ceph.constrained_pools import PARAMETER, ConstrainedPool
from plimsoll.processes.driver.backends.ceph.class_parameters import (
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
from plimsoll.processes.driver.backends.cephfs.options import CephfsOptions
from plimsoll.wire.csi.refusals import invalid_argument

FILESYSTEM = "fsName"
PARAMETERS = SHARED_PARAMETERS | {FILESYSTEM}


def parse_cephfs_class(
    parameters: Mapping[str, str], options: CephfsOptions, served: ServedClusters
) -> CephClass:
    """As the cluster sees it that has these options. Raises CsiStatusError (INVALID_ARGUMENT)."""
    check_names(parameters, PARAMETERS)
    group = parse_group(parameters)
    home = parse_home(parameters, served)
    if home == served.own:
        _check_filesystem(parameters.get(FILESYSTEM, ""), options.fs_name)
    return CephClass(
        home=home,
        own=served.own,
        pools=() if group else _pools(parameters, options, home, served),
        group=group,
        name_prefix=parse_prefix(parameters),
        spread=parse_spread(parameters),
        reach=parse_reach(parameters),
        overcommit=parse_class_overcommit(parameters),
    )


def _check_filesystem(wanted: str, own: str) -> None:
    if wanted and wanted != own:
        raise invalid_argument(f"parameters: {FILESYSTEM}: {wanted}: this driver serves {own}")


def _pools(
    parameters: Mapping[str, str], options: CephfsOptions, home: str, served: ServedClusters
) -> tuple[ConstrainedPool, ...]:
    if text := parameters.get(PARAMETER, ""):
        return _listed(text, home, served)
    if home != served.own:
        # Only the cluster of the class knows which pool it has for classes that name none.
        return ()
    single = parameters.get("pool", "") or options.pool
    if not single:
        raise invalid_argument(
            f"parameters: {PARAMETER} or pool must be given: it says where content goes"
        )
    return (ConstrainedPool(name=single, cluster_id=home),)


def _listed(text: str, home: str, served: ServedClusters) -> tuple[ConstrainedPool, ...]:
    pools = parse_pools(text, home, served)
    if any(pool.data_pool for pool in pools):
        raise invalid_argument(
            f"parameters: {PARAMETER}: dataPool is for images; poolName has the content here"
        )
    return pools
