"""Which way of mounting a node of the driver has, and what it keeps on disk for it."""

import shutil
from pathlib import Path
from urllib.parse import quote

from plimsoll.processes.driver.node.mounting.linked_mounts import LinkedMounts
from plimsoll.processes.driver.node.mounting.no_mounts import NoMounts
from plimsoll.processes.driver.node.mounting.protocol import DriverMounting
from plimsoll.processes.driver.node.mounting.real_mounts import PRIVATE, RealMounts, unmount
from plimsoll.processes.driver.node.mounting.targets import entries
from plimsoll.processes.driver.settings import Mounts


def state_dir(data_dir: Path, node_id: str) -> Path:
    """What one node keeps for itself."""
    return data_dir / "nodes" / quote(node_id, safe="")


def chosen(kind: Mounts, state_dir: Path) -> DriverMounting:
    """`state_dir` belongs to this node of this driver alone."""
    match kind:
        case Mounts.REAL:
            return RealMounts(state_dir)
        case Mounts.LINKED:
            return LinkedMounts(state_dir / "links")
        case Mounts.NONE:
            return NoMounts()


async def clear_leftovers(data_dir: Path) -> None:
    """On start: unmount what the last run left in its private directories when it died."""
    for node in entries(data_dir / "nodes"):
        for private in entries(node / PRIVATE):
            await unmount(private)


def missing_without_root(kind: Mounts) -> str:
    """What people should be told at start; empty when nothing is missing."""
    if kind is not Mounts.LINKED:
        return ""
    tool = "" if shutil.which("mount") else ", and mount(8) is not installed"
    return (
        "volumes are shown as symbolic links to directories; images, block devices, memory,"
        f" read-only use and mount options need root{tool}"
    )
