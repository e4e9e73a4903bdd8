import sys

import pytest

from plimsoll.wire.ceph.bindings import load_bindings
from plimsoll.wire.ceph.errors import NoCephError


def test_without_ceph_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rados", None)
    with pytest.raises(NoCephError, match="install Debian's package python3-rados"):
        load_bindings()
