"""Loops are told of each version of an object once: when it is written, or when it is watched."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.reconcile.observed import Observed
from plimsoll.simulator.cluster.objects import kind_of
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim

NAME, CLAIM = "data", "PersistentVolumeClaim"


class ObservedClaims:
    """What the loops of a process would be told of claims."""

    def __init__(self, cluster: StoryCluster) -> None:
        self.observed = Observed(cluster.client)
        self.versions: list[str] = []
        """Of each change; empty: the claim is gone."""
        self.observed.of(PersistentVolumeClaim).on_change(self._changed)
        self._runs = self.observed.start()

    def _changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        after = change.after
        self.versions.append("" if after is None else after.metadata.resource_version)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self._runs["watch PersistentVolumeClaim"]())
        await self.observed.synced()
        yield
        task.cancel()


async def test_loops_are_told_once_of_what_their_process_has_written() -> None:
    async with a_cluster() as cluster:
        claims, document = ObservedClaims(cluster), claim(NAME)
        answer = await cluster.client.create(kind_of(document), document)
        claims.observed.written((answer,))
        assert claims.versions == [answer["metadata"]["resourceVersion"]]
        async with claims.watching():
            await cluster.settle()
            assert claims.versions == [answer["metadata"]["resourceVersion"]]


async def test_loops_are_told_of_what_another_process_has_written() -> None:
    async with a_cluster() as cluster:
        claims, document = ObservedClaims(cluster), claim(NAME)
        answer = await cluster.client.create(kind_of(document), document)
        claims.observed.written((answer,))
        async with claims.watching():
            patched = await cluster.patch(CLAIM, NAME, {"metadata": {"labels": {"tier": "gold"}}})
            await cluster.settle()
            assert claims.versions[1:] == [patched["metadata"]["resourceVersion"]]
            await cluster.patch(CLAIM, NAME, {"metadata": {"finalizers": None}})
            await cluster.delete(CLAIM, NAME)
            await cluster.settle()
            assert claims.versions[-1] == ""
