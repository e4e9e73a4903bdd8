import pytest

from tests.ceph.requirements import missing, missing_for_files


def test_ceph_is_here() -> None:
    if reason := missing():
        pytest.skip(reason)


def test_cephfs_is_here() -> None:
    if reason := missing_for_files():
        pytest.skip(reason)
