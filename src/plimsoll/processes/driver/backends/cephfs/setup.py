"""Makes the cephfs backend: of one file system, or of one in each of several clusters."""

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

from plimsoll.processes.driver.backends.ceph.class_parameters import ServedClusters
from plimsoll.processes.driver.backends.ceph.clusters.ceph_clusters import CephClusters
from plimsoll.processes.driver.backends.ceph.clusters.setup import make_backends
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.shared_options import access_of
from plimsoll.processes.driver.backends.cephfs.backend import FEATURES, CephfsBackend
from plimsoll.processes.driver.backends.cephfs.filesystem_pools import FilesystemAccess
from plimsoll.processes.driver.backends.cephfs.fuse_mounts import FuseMounts
from plimsoll.processes.driver.backends.cephfs.options import (
    CephfsOptions,
    further_filesystems,
    parse_cephfs_options,
)
from plimsoll.processes.driver.settings import BackendSettings, Mounts, SetupError
from plimsoll.wire.ceph.bindings import load_files_binding
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import NoCephError
from plimsoll.wire.ceph.files.fencing import ClientAddresses, ClientFencing
from plimsoll.wire.ceph.files.filesystem import CephFilesystem

log = logging.getLogger(__name__)

DIRECTORY = "cephfs"


def make(settings: BackendSettings) -> JournaledBackend | CephClusters:
    """Connects on the first occasion. Raises SetupError."""
    options = parse_cephfs_options(settings.options)
    return make_backends(
        options,
        further_filesystems(options),
        partial(_of_one, settings),
        directory=settings.data_dir / DIRECTORY,
        settings=settings,
    )


def _of_one(
    settings: BackendSettings, options: CephfsOptions, directory: Path, served: ServedClusters
) -> CephfsBackend:
    access = access_of(options)
    try:
        connection = CephConnection(access)
        load_files_binding()
    except NoCephError as error:
        raise SetupError(str(error)) from error
    fencing = ClientFencing(connection, ClientAddresses(directory / "addresses"))
    mounts = FuseMounts(directory, access, options.fs_name, fencing=fencing, clock=settings.clock)
    backend = CephfsBackend(
        FilesystemAccess(
            connection=connection, files=CephFilesystem(access, options.fs_name, fencing)
        ),
        options,
        mounts=mounts,
        settings=settings,
        served=served,
    )
    backend.features = replace(FEATURES, node_service=_is_node(mounts, settings))
    return backend


def _is_node(mounts: FuseMounts, settings: BackendSettings) -> bool:
    if settings.mounts is not Mounts.REAL or not mounts.is_possible:
        log.warning("volumes cannot be used here", extra={"reason": "needs root and ceph-fuse"})
        return False
    if len(settings.nodes) != 1:
        raise SetupError(f"the cephfs backend serves one node, not {len(settings.nodes)}")
    mounts.prepare()
    return True
