"""What these tests need that is not there, for people."""

import importlib.util
import platform
import shutil

PROGRAMS = ("ceph-mon", "ceph-mgr", "ceph-osd", "monmaptool", "rbd-fuse")
BINDINGS = ("rados", "rbd")


def missing() -> str:
    """Empty: nothing."""
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    foreign = [name for name in BINDINGS if importlib.util.find_spec(name) is None]
    version = platform.python_version()
    reasons = [f"{name} is not installed" for name in absent]
    return ", ".join((*reasons, *(f"Python {version} cannot import {name}" for name in foreign)))
