"""What a driver and its backend are told when they are made: typed, checked, with full names.

`configuration` reads this from files and flags; the simulator and `plimsoll up` make it directly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from plimsoll.processes.driver.homes import NodeHomes
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.ids import Ids, system_ids


class Mounts(StrEnum):
    """How volumes get to where pods look for them."""

    REAL = "real"
    """Mounted, as kubelet expects; needs root."""
    LINKED = "linked"
    """A symbolic link to the directory of the volume: without root, for looking around."""
    NONE = "none"
    """Not at all: everything is only recorded. For hundreds of nodes in one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    path: Path
    size_bytes: int | None = None
    """How much of it volumes may take; None: what the file system has."""
    create: bool = False
    """Whether it may be made, on the file system above it, should it not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    id: str
    """What NodeGetInfo calls it."""
    endpoint: str = ""
    """The socket that this node's services are on; empty: only in process."""
    topology: Mapping[str, str] = field(default_factory=dict)
    """Its segment, with full keys."""
    max_volumes: int = 0
    """How many volumes may be attached to it, or used on it; 0: no limit."""
    disks: tuple[Disk, ...] = ()
    """What its volumes are on."""
    memory_bytes: int = 0
    """How much memory volumes may take in sum."""
    plugin_registration_dir: str = ""
    """Where the driver registers itself for this node; empty: another program registers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSettings:
    driver_name: str
    """The prefix of topology keys comes from it."""
    data_dir: Path
    """Where a backend may keep what must survive."""
    nodes: tuple[NodeSettings, ...]
    """All that the driver serves."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What only this backend understands."""
    options_source: str = ""
    """The file that the options are from, for messages; empty: none of their own."""
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=system_ids)
    mounts: Mounts = Mounts.REAL
    """How volumes get to pods."""
    homes: NodeHomes = field(default_factory=NodeHomes)
    """Where labels say that nodes are, beyond their settings; changes while the driver runs."""
    ids_from_names: bool = False
    """Whether the id of a volume follows from the name that was asked for."""

    def key(self, name: str) -> str:
        """A topology key, with the driver's prefix unless it has one."""
        return topology_key(self.driver_name, name)


class SetupError(Exception):
    """A backend cannot work here; says what is missing and the remedy."""


def topology_key(driver_name: str, name: str) -> str:
    return name if "/" in name else f"topology.{driver_name}/{name}"
