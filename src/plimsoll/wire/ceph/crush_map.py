"""The CRUSH map of a cluster as text, and back: read, changed and written on its version.

Monitors keep the map in a form of their own; Ceph's `crushtool` translates it. A map is written
only if it still has the version that was read, so that no edit of another administrator is lost.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from plimsoll.runtime.commands import run
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError, CephFailure

CHANGED = "prior_version"
"""Of the answer of monitors that have another version; its number says that it is not permitted."""


@dataclass(frozen=True, slots=True)
class CrushMapText:
    text: str
    version: int


async def read_crush_map(connection: CephConnection) -> CrushMapText:
    """Raises CephError, and CommandError where there is no crushtool."""
    compiled, version = await connection.raw_command("osd getcrushmap", {})
    text = await _translated("-d", compiled)
    return CrushMapText(text.decode(), int(version))


async def write_crush_map(connection: CephConnection, changed: CrushMapText) -> None:
    """`version` is that of the map that was changed. Raises CephError, and CommandError where
    crushtool does not take the text."""
    compiled = await _translated("-c", changed.text.encode())
    arguments = {"prior_version": changed.version}
    try:
        await connection.raw_command("osd setcrushmap", arguments, compiled)
    except CephError as error:
        if CHANGED in str(error):
            raise CephError(CephFailure.CHANGED, "the CRUSH map") from error
        raise


async def _translated(way: str, given: bytes) -> bytes:
    """`-d` makes text of a map, `-c` a map of text."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-crush-") as name:
        before, after = Path(name, "before"), Path(name, "after")
        await asyncio.to_thread(before.write_bytes, given)
        await run(["crushtool", way, before, "-o", after])
        return await asyncio.to_thread(after.read_bytes)
