"""On the C library, which is everywhere."""

import ctypes
from pathlib import Path

import pytest

from plimsoll.wire.ceph.ctypes_bindings.shared_library import SharedLibrary

C = "libc.so.6"
READLINK = (ctypes.c_ssize_t, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)


def test_a_library_that_is_not_installed_cannot_be_imported() -> None:
    with pytest.raises(ImportError, match=r"libplimsoll-missing\.so\.1"):
        SharedLibrary("libplimsoll-missing.so.1", {})


def test_a_library_that_lacks_a_function_cannot_be_imported() -> None:
    with pytest.raises(ImportError, match="plimsoll_missing"):
        SharedLibrary(C, {"plimsoll_missing": (None,)})


@pytest.mark.parametrize("length", [1, 255, 256, 257, 1000, 4000])
def test_an_answer_is_whole_however_long_it_is(tmp_path: Path, length: int) -> None:
    """`readlink` cuts off what does not fit, and says nothing."""
    link = tmp_path / "link"
    link.symlink_to("x" * length)
    found = SharedLibrary(C, {"readlink": READLINK}).filled("readlink", bytes(link))
    assert found.decode() == str(link.readlink())
