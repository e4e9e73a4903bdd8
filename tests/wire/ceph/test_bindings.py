import sys

import pytest

from plimsoll.wire.ceph import ctypes_bindings
from plimsoll.wire.ceph.bindings import VARIABLE, load_bindings, load_files_binding
from plimsoll.wire.ceph.errors import NoCephError

OURS = ctypes_bindings.__name__
DEBIANS_IMAGES = ("rados", "rbd")
OUR_IMAGES = (f"{OURS}.rados", f"{OURS}.rbd")


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
        # An earlier test may have imported it.
        monkeypatch.delattr(ctypes_bindings, name.rpartition(".")[2], raising=False)


def test_without_ceph_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, *DEBIANS_IMAGES, *OUR_IMAGES)
    with pytest.raises(NoCephError, match=r"librados2 and librbd1.*or .*python3-rados"):
        load_bindings()


def test_without_cephfs_its_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "cephfs", f"{OURS}.cephfs")
    with pytest.raises(NoCephError, match=r"libcephfs2.*or .*python3-cephfs"):
        load_files_binding()


@pytest.mark.parametrize(
    ("choice", "named", "unnamed"),
    [("debian", "python3-rados", "librados2"), ("ctypes", "librados2", "python3-rados")],
)
def test_of_bindings_that_were_chosen_only_their_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, choice: str, named: str, unnamed: str
) -> None:
    without(monkeypatch, *DEBIANS_IMAGES, *OUR_IMAGES)
    monkeypatch.setenv(VARIABLE, choice)
    with pytest.raises(NoCephError, match=named) as raised:
        load_bindings()
    assert unnamed not in str(raised.value)


def test_a_choice_that_there_is_not_is_told_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "cython")
    for load in (load_bindings, load_files_binding):
        with pytest.raises(NoCephError, match=r"'cython'; it can be one of auto, debian, ctypes"):
            load()


def test_a_module_of_debian_without_the_other_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pool that one binding has opened means nothing to the other."""
    pytest.importorskip("rados")
    monkeypatch.setitem(sys.modules, "rbd", None)
    assert [getattr(module, "__name__", "") for module in load_bindings()] == [*OUR_IMAGES]
