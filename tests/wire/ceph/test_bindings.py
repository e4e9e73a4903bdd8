import sys

import pytest

from plimsoll.wire.ceph.bindings import load_bindings, load_files_binding
from plimsoll.wire.ceph.errors import NoCephError


def test_without_ceph_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rados", None)
    with pytest.raises(NoCephError, match="install Debian's package python3-rados"):
        load_bindings()


def test_without_cephfs_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cephfs", None)
    with pytest.raises(NoCephError, match="install Debian's package python3-cephfs"):
        load_files_binding()
