"""What an administrator may say about the volume group, and whether it can work."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from plimsoll.processes.driver.backends.lvm.commands import Lvm
from plimsoll.processes.driver.backends.lvm.kernel import has_udev
from plimsoll.processes.driver.settings import BackendSettings, NodeSettings, SetupError

MEBIBYTE = 1024**2


class Options(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    volume_group: str = ""
    """Must be given."""
    create: bool = False
    """Make the group of the given disks if there is none of that name."""
    extent_bytes: int = 4 * MEBIBYTE
    """Of a group that is made."""
    erase: bool = True
    """Overwrite a volume that was ever used before its extents are given to others."""


def parse_options(options: Mapping[str, Any]) -> Options:
    """Raises SetupError."""
    try:
        found = msgspec.convert(options, Options)
    except msgspec.ValidationError as error:
        raise SetupError(f"options of the lvm backend: {error}") from error
    if not found.volume_group:
        raise SetupError("the lvm backend needs a volume group; name one with --volume-group")
    return found


def only_node(settings: BackendSettings) -> NodeSettings:
    """Raises SetupError: the disks of other nodes are not here."""
    if len(settings.nodes) != 1:
        raise SetupError(f"the lvm backend serves one node, not {len(settings.nodes)}")
    return settings.nodes[0]


def parse_lvm(
    options: Options, node: NodeSettings, state_dir: Path, *, has_device_mapper: bool
) -> Lvm:
    """Raises SetupError."""
    if any(disk.size_bytes is not None for disk in node.disks):
        raise SetupError("the lvm backend takes whole disks; give them without a size")
    try:
        return Lvm(
            group=options.volume_group,
            # lvm2 goes by the names that the kernel gives.
            disks=tuple(os.path.realpath(disk.path) for disk in node.disks),
            state_dir=state_dir,
            has_device_mapper=has_device_mapper,
            has_udev=has_udev(),
        )
    except ValueError as error:
        raise SetupError(f"the lvm backend: {error}") from error
