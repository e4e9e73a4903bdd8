"""A driver of several clusters whose process dies while it works on the journal of one of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from plimsoll.decide.ceph.journal.operations import RadosOperation
from plimsoll.processes.driver.backends.ceph.clusters.ceph_clusters import CephClusters
from tests.ceph.interrupted_calls import CrashedError
from tests.processes.driver.drivers import Running


@dataclass(slots=True)
class JournalMoments:
    """How many operations there were."""

    number: int = 0


@contextmanager
def dying(driver: Running, cluster: str, at: int) -> Iterator[JournalMoments]:
    """Every operation on the journal of that cluster fails, from the one that is named on."""
    backend = driver.driver.backend
    assert isinstance(backend, CephClusters)
    runner = backend.members.named(cluster).backend.cluster.runner
    moments = JournalMoments()

    def pass_by(_: RadosOperation) -> None:
        moments.number += 1
        if moments.number >= at:
            raise CrashedError

    before = runner.on_operation
    runner.on_operation = pass_by
    try:
        yield moments
    finally:
        runner.on_operation = before
