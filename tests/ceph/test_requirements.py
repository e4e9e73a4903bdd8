import pytest

from tests.ceph.requirements import missing


def test_ceph_is_here() -> None:
    if reason := missing():
        pytest.skip(reason)
