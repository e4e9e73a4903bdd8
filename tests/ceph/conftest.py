"""A real cluster for tests that ask for `cluster`, with CephFS for those that ask for `filesystem`,
and a second one for those that ask for `second_cluster` or `second_filesystem`.

Without Ceph one test tells what is missing, without CephFS another one; those of RBD run then.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plimsoll.wire.ceph.binding_choice import BindingChoice
from plimsoll.wire.ceph.bindings import VARIABLE
from tests.ceph import guardian
from tests.ceph.requirements import missing, missing_for_files

if TYPE_CHECKING:
    from tests.ceph.cluster_filesystem import ClusterFilesystem
    from tests.ceph.keeper import ClusterKeeper
    from tests.ceph.loopback_cluster import LoopbackCluster

pytest.register_assert_rewrite("tests.ceph.interrupted_calls")
"""So that a failure tells what is left over."""

collect_ignore_glob = ["test_[!r]*.py", "*/test_*.py"] if missing() else []
if missing_for_files():
    collect_ignore_glob += ["files/test_*.py"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests with the mark `both_bindings` run with Debian's modules, and with ours by ctypes."""
    if metafunc.definition.get_closest_marker("both_bindings"):
        ways = [BindingChoice.DEBIAN, BindingChoice.CTYPES]
        metafunc.parametrize("bindings", ways, indirect=True)


@pytest.fixture(autouse=True)
def bindings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if choice := getattr(request, "param", ""):
        monkeypatch.setenv(VARIABLE, choice)


@pytest.fixture(scope="session")
def keeper() -> "Iterator[ClusterKeeper]":
    # Loaded when it is called for: without Ceph it could not be.
    from tests.ceph.keeper import ClusterKeeper  # noqa: PLC0415

    guardian.clear_dead_mounts(Path(tempfile.gettempdir()))
    keeper = ClusterKeeper()
    yield keeper
    keeper.close()


@pytest.fixture
def cluster(keeper: "ClusterKeeper") -> "LoopbackCluster":
    return keeper.whole()


@pytest.fixture
def filesystem(keeper: "ClusterKeeper") -> "ClusterFilesystem":
    return keeper.filesystem()


@pytest.fixture(scope="module")
def second_cluster(keeper: "ClusterKeeper") -> "Iterator[LoopbackCluster]":
    yield keeper.second()
    keeper.end_second()


@pytest.fixture(scope="module")
def second_filesystem(keeper: "ClusterKeeper") -> "Iterator[ClusterFilesystem]":
    yield keeper.second_filesystem()
    keeper.end_second()
