"""Whether a file system has a metadata server, as monitors see it.

They notice that one is gone after some seconds. Where none takes over they go on to call it active,
and tell only since when it lags.
"""

from collections.abc import Mapping
from typing import Any

from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError, CephFailure

ACTIVE = "up:active"


async def check_served(connection: CephConnection, filesystem: str) -> None:
    """Raises CephError, before a client would wait for a server that is not there."""
    dump = await connection.command("fs dump")
    if not has_server(dump, filesystem):
        detail = "no metadata server is active; look at `ceph fs status`"
        raise CephError(CephFailure.TIMED_OUT, f"file system {filesystem}", detail)


def has_server(dump: Mapping[str, Any], filesystem: str) -> bool:
    """A file system that is not there at all is for the client to tell."""
    maps = [found["mdsmap"] for found in dump["filesystems"]]
    own = [found for found in maps if found["fs_name"] == filesystem]
    return not own or any(
        server["state"] == ACTIVE and "laggy_since" not in server
        for server in own[0]["info"].values()
    )
