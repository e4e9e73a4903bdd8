"""librados, librbd and libcephfs for Python, loaded when called for: most drivers need none.

`PLIMSOLL_CEPH_BINDINGS` in the environment says which, in the words of `BindingChoice`.
"""

from typing import NamedTuple

from plimsoll.runtime.config import environment
from plimsoll.wire.ceph.binding_choice import BindingChoice, import_cephfs, import_rados_and_rbd
from plimsoll.wire.ceph.errors import NoCephError
from plimsoll.wire.ceph.files.interface import CephfsModule
from plimsoll.wire.ceph.interfaces import RadosModule, RbdModule

VARIABLE = "PLIMSOLL_CEPH_BINDINGS"


class CephBindings(NamedTuple):
    rados: RadosModule
    rbd: RbdModule


def chosen_bindings() -> BindingChoice:
    """Raises NoCephError."""
    given = environment().get(VARIABLE) or BindingChoice.AUTO
    try:
        return BindingChoice(given)
    except ValueError as error:
        known = ", ".join(BindingChoice)
        raise NoCephError(f"{VARIABLE} is {given!r}; it can be one of {known}") from error


def load_bindings() -> CephBindings:
    """Raises NoCephError."""
    try:
        return CephBindings(*import_rados_and_rbd(chosen_bindings()))
    except ImportError as error:
        raise NoCephError(str(error)) from error


def load_files_binding() -> CephfsModule:
    """That of CephFS. Raises NoCephError."""
    try:
        return import_cephfs(chosen_bindings())
    except ImportError as error:
        raise NoCephError(str(error)) from error
