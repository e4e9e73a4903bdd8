"""A real cluster for tests that ask for `cluster`; without Ceph one test tells what is missing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.ceph.requirements import missing

if TYPE_CHECKING:
    from tests.ceph.keeper import ClusterKeeper
    from tests.ceph.loopback_cluster import LoopbackCluster

collect_ignore_glob = ["test_[!r]*.py", "*/test_*.py"] if missing() else []


@pytest.fixture(scope="session")
def keeper() -> "Iterator[ClusterKeeper]":
    # Loaded when it is called for: without Ceph it could not be.
    from tests.ceph.keeper import ClusterKeeper  # noqa: PLC0415

    keeper = ClusterKeeper()
    yield keeper
    keeper.close()


@pytest.fixture
def cluster(keeper: "ClusterKeeper") -> "LoopbackCluster":
    return keeper.whole()
