"""Makes the rbd backend: of one cluster, or of several if the options list more."""

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

from plimsoll.processes.driver.backends.ceph.ceph_cluster import CephCluster
from plimsoll.processes.driver.backends.ceph.class_parameters import ServedClusters
from plimsoll.processes.driver.backends.ceph.clusters.ceph_clusters import CephClusters
from plimsoll.processes.driver.backends.ceph.clusters.setup import make_backends
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalRunner
from plimsoll.processes.driver.backends.ceph.shared_options import access_of, names_in
from plimsoll.processes.driver.backends.rbd.backend import FEATURES, RbdBackend
from plimsoll.processes.driver.backends.rbd.fuse_devices import FuseDevices
from plimsoll.processes.driver.backends.rbd.image_assets import ImageRemoval
from plimsoll.processes.driver.backends.rbd.options import (
    RbdOptions,
    further_clusters,
    parse_options,
)
from plimsoll.processes.driver.settings import BackendSettings, Mounts, SetupError
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import NoCephError

log = logging.getLogger(__name__)

DIRECTORY = "rbd"


def make(settings: BackendSettings) -> JournaledBackend | CephClusters:
    """Connects on the first occasion. Raises SetupError."""
    options = parse_options(settings.options)
    return make_backends(
        options,
        further_clusters(options),
        partial(_of_one, settings),
        directory=settings.data_dir / DIRECTORY,
        settings=settings,
    )


def _of_one(
    settings: BackendSettings, options: RbdOptions, directory: Path, served: ServedClusters
) -> RbdBackend:
    access = access_of(options)
    try:
        connection = CephConnection(access)
    except NoCephError as error:
        raise SetupError(str(error)) from error
    devices = FuseDevices(directory, access, settings.clock)
    is_node = settings.mounts is Mounts.REAL and devices.is_possible
    if is_node and len(settings.nodes) != 1:
        raise SetupError(f"the rbd backend serves one node, not {len(settings.nodes)}")
    if is_node:
        devices.prepare()
    else:
        log.warning("volumes cannot be used here", extra={"reason": "needs root and rbd-fuse"})
    cluster = CephCluster(
        connection=connection,
        runner=JournalRunner(connection, ImageRemoval(connection), settings.clock),
        cluster_id=options.cluster_id,
        older_journals=names_in(options.older_journals),
    )
    backend = RbdBackend(cluster, options, devices, settings, served=served)
    backend.features = replace(FEATURES, node_service=is_node)
    return backend
