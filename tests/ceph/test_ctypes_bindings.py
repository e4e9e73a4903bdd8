"""What Debian's modules do not do, or cannot be asked."""

import errno
import os
from collections.abc import Iterator

import pytest

from plimsoll.wire.ceph.binding_choice import BindingChoice, import_rados_and_rbd
from plimsoll.wire.ceph.ctypes_bindings.library_errors import LibraryError
from plimsoll.wire.ceph.interfaces import ClusterCalls
from tests.ceph.connections import access
from tests.ceph.loopback_cluster import JOURNAL, LoopbackCluster

OURS, OUR_RBD = import_rados_and_rbd(BindingChoice.CTYPES)
DEBIANS, _ = import_rados_and_rbd(BindingChoice.DEBIAN)


@pytest.fixture
def connection(cluster: LoopbackCluster) -> Iterator[ClusterCalls]:
    made = connect(cluster)
    yield made
    made.shutdown()


def connect(cluster: LoopbackCluster) -> ClusterCalls:
    by = access(cluster)
    made = OURS.Rados(rados_id=by.user, conf={"mon_host": by.monitors, "key": by.key})
    made.connect()
    return made


def threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - only their number


def test_a_connection_that_is_dropped_is_shut_down_when_its_last_pool_is_closed(
    cluster: LoopbackCluster,
) -> None:
    before = threads()
    with connect(cluster).open_ioctx(JOURNAL) as opened:
        assert threads() > before
    del opened
    cluster.until(lambda: threads() <= before, "its threads go on")


def test_a_connection_that_was_shut_down_is_an_error_and_no_crash(
    cluster: LoopbackCluster,
) -> None:
    connection = connect(cluster)
    connection.shutdown()
    connection.shutdown()
    with pytest.raises(LibraryError) as raised:
        connection.open_ioctx(JOURNAL)
    assert raised.value.errno == errno.ENOTCONN


def test_what_another_binding_has_opened_is_refused(
    connection: ClusterCalls, cluster: LoopbackCluster
) -> None:
    with connection.open_ioctx(JOURNAL) as opened, DEBIANS.WriteOpCtx() as foreign:
        with pytest.raises(TypeError, match="of another binding"):
            opened.operate_write_op(foreign, "object")
        by = access(cluster)
        other = DEBIANS.Rados(rados_id=by.user, conf={"mon_host": by.monitors, "key": by.key})
        other.connect()
        with other.open_ioctx(JOURNAL) as elsewhere, pytest.raises(TypeError, match="of another"):
            OUR_RBD.RBD().list(elsewhere)
        other.shutdown()


def test_an_option_that_ceph_does_not_have_is_an_error(cluster: LoopbackCluster) -> None:
    with pytest.raises(OURS.ObjectNotFound, match="rados_conf_set: No such file"):
        OURS.Rados(rados_id=access(cluster).user, conf={"no_such_option": "1"})
