"""Which backends there are. Loaded when they are called for: each needs other programs."""

import importlib
from collections.abc import Callable
from typing import cast

from plimsoll.processes.driver.backends.protocol import Backend
from plimsoll.processes.driver.settings import BackendSettings

BACKENDS = {
    "cephfs": "plimsoll.processes.driver.backends.cephfs.setup",
    "local": "plimsoll.processes.driver.backends.local.backend",
    "lvm": "plimsoll.processes.driver.backends.lvm.backend",
    "pools": "plimsoll.processes.driver.backends.pools.backend",
    "rbd": "plimsoll.processes.driver.backends.rbd.setup",
}


def make_backend(name: str, settings: BackendSettings) -> Backend:
    """Raises SetupError when it cannot work here."""
    module = importlib.import_module(BACKENDS[name])
    make = cast("Callable[[BackendSettings], Backend]", module.make)
    return make(settings)
