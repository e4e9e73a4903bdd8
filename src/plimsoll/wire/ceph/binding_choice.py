"""Which of Ceph's bindings are imported: Debian's modules, or ours on the shared libraries.

Debian builds its modules for its own version of Python only, and PyPI has none. This module is
loaded by the worker of CephFS, so it loads little itself.
"""

import importlib
import platform
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from plimsoll.wire.ceph.files.interface import CephfsModule
from plimsoll.wire.ceph.interfaces import RadosModule, RbdModule

T = TypeVar("T")


class BindingChoice(StrEnum):
    AUTO = "auto"
    """Debian's where they can be imported, otherwise by ctypes."""
    DEBIAN = "debian"
    CTYPES = "ctypes"


@dataclass(frozen=True, slots=True)
class DebianPackages:
    modules: str
    libraries: str


IMAGES = DebianPackages("python3-rados and python3-rbd", "librados2 and librbd1")
FILES = DebianPackages("python3-cephfs", "libcephfs2")


def import_rados_and_rbd(choice: BindingChoice) -> tuple[RadosModule, RbdModule]:
    """Of the same kind: what the one opens the other works with. Raises ImportError."""
    ways = {BindingChoice.DEBIAN: _debian_images, BindingChoice.CTYPES: _ctypes_images}
    return _first(choice, ways, IMAGES)


def import_cephfs(choice: BindingChoice) -> CephfsModule:
    """Raises ImportError."""
    ways = {BindingChoice.DEBIAN: _debian_files, BindingChoice.CTYPES: _ctypes_files}
    return _first(choice, ways, FILES)


def _debian_images() -> tuple[RadosModule, RbdModule]:
    rados: Any = importlib.import_module("rados")
    rbd: Any = importlib.import_module("rbd")
    return rados, rbd


def _ctypes_images() -> tuple[RadosModule, RbdModule]:
    # These load the libraries, which may not be there.
    from plimsoll.wire.ceph.ctypes_bindings import rados, rbd  # noqa: PLC0415

    return rados, rbd


def _debian_files() -> CephfsModule:
    cephfs: Any = importlib.import_module("cephfs")
    found: CephfsModule = cephfs
    return found


def _ctypes_files() -> CephfsModule:
    from plimsoll.wire.ceph.ctypes_bindings import cephfs  # noqa: PLC0415 - the same

    return cephfs


def _first(
    choice: BindingChoice, ways: dict[BindingChoice, Callable[[], T]], packages: DebianPackages
) -> T:
    """Of the ways in their order, that is chosen and succeeds."""
    reasons: list[ImportError] = []
    for name, load in ways.items():
        if choice in (BindingChoice.AUTO, name):
            try:
                return load()
            except ImportError as error:
                reasons.append(error)
    raise ImportError(
        f"Ceph cannot be used by Python {platform.python_version()}"
        f" ({'; '.join(map(str, reasons))}): install {_remedy(choice, packages)}"
    ) from reasons[-1]


def _remedy(choice: BindingChoice, packages: DebianPackages) -> str:
    modules = (
        f"Debian's {packages.modules}, which are for Python 3.11, and link the modules into the"
        " environment, as tools/ceph_packages.sh does"
    )
    libraries = f"Ceph's shared libraries (Debian: {packages.libraries}), which serve any Python"
    match choice:
        case BindingChoice.DEBIAN:
            return modules
        case BindingChoice.CTYPES:
            return libraries
        case BindingChoice.AUTO:
            return f"{libraries}, or {modules}"
