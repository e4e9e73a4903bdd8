"""Finds the volume group at the start, or creates it. A driver that cannot work says so at once."""

import logging
import shutil
from datetime import timedelta

from plimsoll.processes.driver.backends.lvm.commands import Lvm
from plimsoll.processes.driver.backends.lvm.group import VolumeGroup, told
from plimsoll.processes.driver.backends.lvm.options import Options
from plimsoll.processes.driver.backends.lvm.report import ReportedGroup
from plimsoll.processes.driver.settings import SetupError
from plimsoll.runtime.commands import CommandError, run, search_path
from plimsoll.wire.csi.errors import CsiStatusError

log = logging.getLogger(__name__)

TOOLS = ("lvm", "flock")
CREATE_GROUP_WITHIN = timedelta(minutes=2)


def refuse_without_tools() -> None:
    """Raises SetupError."""
    for tool in TOOLS:
        if shutil.which(tool, path=search_path()) is None:
            raise SetupError(f"the lvm backend needs {tool}; install lvm2 and util-linux")


async def found_or_made(group: VolumeGroup, options: Options) -> ReportedGroup:
    """Raises SetupError."""
    try:
        return await group.read()
    except CsiStatusError as refusal:
        if not options.create:
            raise SetupError(
                f"{refusal.detail}; make it with vgcreate, or set the option create and give disks"
            ) from refusal
    await _made(group.lvm, options)
    try:
        return await group.read()
    except CsiStatusError as refusal:
        raise SetupError(refusal.detail) from refusal


async def _made(lvm: Lvm, options: Options) -> None:
    if not lvm.disks:
        raise SetupError(f'volume group "{lvm.group}" is to be made, but of which disks?')
    try:
        await run(lvm.make_group(options.extent_bytes), within=CREATE_GROUP_WITHIN)
    except CommandError as error:
        raise SetupError(f'volume group "{lvm.group}" cannot be made: {told(error)}') from error
    log.info("volume group made", extra={"volume_group": lvm.group, "disks": list(lvm.disks)})
