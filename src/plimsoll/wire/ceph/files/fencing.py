"""Clients of CephFS that ended without saying so, and how others are rid of them.

A client that is killed holds its capabilities until the metadata server gives it up, and others
wait for them meanwhile. So the address of every client is written down before it is used, and
taken off the list when it has ended in order. What is on the list and has ended otherwise is put on
the blocklist of the cluster, at once or as soon as monitors answer. Addresses are never used twice.
"""

import logging
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote, unquote

from plimsoll.runtime.files.durable_files import write_file
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError

log = logging.getLogger(__name__)

EXPIRE_SECONDS = 3600.0


class ClientAddresses:
    """In a directory, where they outlive the driver; a file each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, address: str) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        write_file(self._file(address), b"")

    def forget(self, address: str) -> None:
        self._file(address).unlink(missing_ok=True)

    def all(self) -> frozenset[str]:
        if not self._directory.is_dir():
            return frozenset()
        return frozenset(unquote(file.name) for file in self._directory.iterdir())

    def _file(self, address: str) -> Path:
        return self._directory / quote(address, safe="")


class ClientFencing:
    def __init__(self, connection: CephConnection, addresses: ClientAddresses) -> None:
        self.connection = connection
        self._addresses = addresses
        self._alive: set[str] = set()

    def began(self, address: str) -> None:
        self._alive.add(address)
        self._addresses.add(address)

    def ended(self, address: str) -> None:
        """In order: it holds nothing any more."""
        self._alive.discard(address)
        self._addresses.forget(address)

    def died(self, address: str) -> None:
        self._alive.discard(address)

    @property
    def pending(self) -> Collection[str]:
        return sorted(self._addresses.all() - self._alive)

    async def enforce(self) -> None:
        """Fences what has died. Raises CephError; what could not be fenced stays on the list."""
        for address in self.pending:
            await fence(self.connection, address)
            self._addresses.forget(address)

    async def try_enforce(self) -> None:
        """The same, where the caller has a better error to tell."""
        try:
            await self.enforce()
        except CephError as error:
            log.warning("client not fenced", extra={"error": str(error)})


async def fence(connection: CephConnection, address: str) -> None:
    """Raises CephError."""
    arguments = {"blocklistop": "add", "addr": address, "expire": EXPIRE_SECONDS}
    await connection.command("osd blocklist", **arguments)
    log.info("client fenced", extra={"client": address})
