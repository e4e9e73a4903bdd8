"""What these tests need that is not there, for people."""

import importlib.util
import platform
import shutil
from collections.abc import Iterable

PROGRAMS = ("ceph-mon", "ceph-mgr", "ceph-osd", "monmaptool", "rbd-fuse")
BINDINGS = ("rados", "rbd")
FILES_PROGRAMS = ("ceph-mds", "ceph-fuse")
FILES_BINDINGS = ("cephfs",)


def missing() -> str:
    """Empty: nothing."""
    return _missing(PROGRAMS, BINDINGS)


def missing_for_files() -> str:
    """For the tests of CephFS, beyond what all others need."""
    return _missing(FILES_PROGRAMS, FILES_BINDINGS)


def _missing(programs: Iterable[str], bindings: Iterable[str]) -> str:
    absent = [name for name in programs if not shutil.which(name)]
    foreign = [name for name in bindings if importlib.util.find_spec(name) is None]
    version = platform.python_version()
    reasons = [f"{name} is not installed" for name in absent]
    return ", ".join((*reasons, *(f"Python {version} cannot import {name}" for name in foreign)))
