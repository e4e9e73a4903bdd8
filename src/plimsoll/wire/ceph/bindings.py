"""librados, librbd and libcephfs for Python, loaded when called for: most drivers need none.

Debian builds them for its own version of Python. PyPI has none.
"""

import importlib
import platform
from typing import Any, NamedTuple

from plimsoll.wire.ceph.errors import NoCephError

PACKAGES = {"rados": "python3-rados", "rbd": "python3-rbd", "cephfs": "python3-cephfs"}


class CephBindings(NamedTuple):
    """The two modules. They carry no types; those of this package do."""

    rados: Any
    rbd: Any


def load_bindings() -> CephBindings:
    """Raises NoCephError."""
    return CephBindings(rados=_load("rados"), rbd=_load("rbd"))


def load_files_binding() -> Any:
    """That of CephFS. Raises NoCephError."""
    return _load("cephfs")


def _load(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        version = platform.python_version()
        raise NoCephError(
            f"Ceph's module {name} cannot be imported by Python {version} ({error}); install"
            f" Debian's package {PACKAGES[name]}, which is for Python 3.11, and link its module"
            " into the environment, as tools/ceph_packages.sh does"
        ) from error
