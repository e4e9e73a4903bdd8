"""Calls the keepers of the server's own objects, once at the start and after every change."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import Change, Collection, StoredRecord
from plimsoll.apiserver.storage.store import StoreFailedError

log = logging.getLogger(__name__)


Place = tuple[str, str]
"""Collection and key of an object."""


class Keeper(Protocol):
    @property
    def collections(self) -> frozenset[str]:
        """Where the objects are that it wants to be told of."""
        ...

    def wants(self, collection: str, record: StoredRecord) -> bool:
        """Whether a change to this object may need something to be written."""
        ...

    def keep(self, changed: frozenset[Place]) -> None:
        """Stage what has to be written. Raises ApiError."""
        ...


class Upkeep:
    def __init__(self, cluster: StoredCluster, keepers: Iterable[Keeper]) -> None:
        self._cluster = cluster
        self._keepers = tuple(keepers)
        self._changed: dict[Keeper, set[Place]] = {keeper: set() for keeper in self._keepers}
        self._wake = asyncio.Event()
        cluster.revisions.on_durable(self._follow)

    def _follow(self, collection: Collection, changes: list[Change]) -> None:
        for keeper in self._keepers:
            if collection.name not in keeper.collections:
                continue
            wanted = [each.record for each in changes if keeper.wants(collection.name, each.record)]
            if wanted:
                self._changed[keeper] |= {(collection.name, record.key) for record in wanted}
                self._wake.set()

    def tell(self, collection: str, key: str) -> None:
        """There is something to be written to an object that has not changed."""
        for keeper in self._keepers:
            if collection in keeper.collections:
                self._changed[keeper].add((collection, key))
                self._wake.set()

    async def begin(self) -> None:
        """Everything that is stored counts as changed."""
        for keeper in self._keepers:
            for name in keeper.collections:
                for record in self._cluster.revisions.collection(name).records():
                    if keeper.wants(name, record):
                        self._changed[keeper].add((name, record.key))
        await self._keep()

    async def run(self) -> None:
        """Never returns."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._keep()

    async def _keep(self) -> None:
        for keeper in self._keepers:
            changed, self._changed[keeper] = frozenset(self._changed[keeper]), set()
            try:
                keeper.keep(changed)
                await self._cluster.revisions.durable()
            except (ApiError, StoreFailedError) as error:
                # It is tried again with the next change, and at the next start.
                log.warning("own object not written", extra={"error": str(error)})
