"""Makes a backend of one cluster, or of several if the options list more."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from plimsoll.processes.driver.backends.ceph.class_parameters import ServedClusters, one_cluster
from plimsoll.processes.driver.backends.ceph.clusters.ceph_clusters import CephClusters
from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import MemberCluster
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.processes.driver.backends.ceph.shared_options import names_in
from plimsoll.processes.driver.settings import BackendSettings

FURTHER = "clusters"


class MemberOptions(Protocol):
    @property
    def cluster_id(self) -> str: ...

    @property
    def domain_levels(self) -> str: ...


Options = TypeVar("Options", bound=MemberOptions)

MakeOne = Callable[[Options, Path, ServedClusters], JournaledBackend]
"""For one of the clusters, with a directory of its own."""


def make_backends(
    options: Options,
    further: Sequence[Options],
    make_one: MakeOne[Options],
    *,
    directory: Path,
    settings: BackendSettings,
) -> JournaledBackend | CephClusters:
    """Raises SetupError."""
    first = options.cluster_id
    if not further:
        return make_one(options, directory, one_cluster(first))
    names = frozenset((first, *(each.cluster_id for each in further)))
    members = []
    for number, each in enumerate((options, *further)):
        own = each.cluster_id
        place = directory / FURTHER / own if number else directory
        backend = make_one(each, place, ServedClusters(own=own, default=first, names=names))
        members.append(MemberCluster(name=own, prefix=own if number else "", backend=backend))
    return CephClusters(members, settings, levels=names_in(options.domain_levels))
