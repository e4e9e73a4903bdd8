"""A process of a story that is cut off: what it sent is carried out, and it does nothing more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.simulator.cluster.objects import kind_named
from plimsoll.simulator.engine.chance import seeded
from plimsoll.simulator.engine.loop import EscapeError, VirtualLoop, run_virtually
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import config_map
from plimsoll.simulator.stories.story_process import StoryCsiLink, StoryLink, StoryProcess, at_once
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.transport import Metadata
from plimsoll.wire.kube import KubeClient

pytestmark = pytest.mark.virtual_time

MAPS = kind_named("ConfigMap")
MINUTE = timedelta(minutes=1)


def client_of(cluster: StoryCluster, process: StoryProcess, cut_after: int | None) -> KubeClient:
    link = StoryLink(process, InProcessTransport(cluster.server), cut_after=cut_after)
    return KubeClient(link, clock=cluster.clock, chance=seeded(1))


async def maps(cluster: StoryCluster) -> list[str]:
    found = await cluster.names("ConfigMap")
    return [name for name in found if name != "kube-root-ca.crt"]


@asynccontextmanager
async def a_process() -> AsyncIterator[tuple[StoryCluster, StoryProcess]]:
    async with a_cluster() as cluster:
        process = StoryProcess("tested")
        yield cluster, process
        await process.bury()


async def test_the_last_write_before_the_cut_is_carried_out_and_none_after_it() -> None:
    async with a_process() as (cluster, process):
        client = client_of(cluster, process, cut_after=2)

        async def write(name: str) -> Document:
            return await client.create(MAPS, config_map(name))

        async def one_after_the_other() -> None:
            for name in ("a", "b", "c"):
                await write(name)

        first = process.spawn(one_after_the_other())
        second = process.spawn(write("at-the-same-moment"))
        await cluster.wait(MINUTE)
        assert await maps(cluster) == ["a", "at-the-same-moment"]
        assert not first.done()
        assert not second.done()


async def test_clean_up_code_of_a_process_that_was_cut_off_reaches_nothing() -> None:
    async with a_process() as (cluster, process):
        client = client_of(cluster, process, cut_after=None)
        called: list[str] = []

        async def answer(_request: bytes, _metadata: Metadata) -> bytes:
            called.append("driver")
            return b""

        driver = StoryCsiLink(InProcessCsi({"/Delete": answer}, cluster.clock))

        async def tidy_up() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                try:
                    await client.create(MAPS, config_map("farewell"))
                finally:
                    try:
                        await driver.call("/Delete", b"", within=MINUTE)
                    finally:
                        await at_once(lambda: called.append("disk"))

        task = process.spawn(tidy_up())
        await cluster.settle()
        await process.bury()
        assert task.cancelled()
        assert await maps(cluster) == []
        assert called == []


async def test_in_the_step_in_which_it_is_cut_off_a_process_sends_nothing_more() -> None:
    async with a_process() as (cluster, process):
        client = client_of(cluster, process, cut_after=None)

        async def fall() -> None:
            await client.find(MAPS, ObjectKey("default", "a"))
            process.cut()
            await client.create(MAPS, config_map("a"))

        process.spawn(fall())
        await cluster.wait(MINUTE)
        assert await maps(cluster) == []


async def test_no_alarm_of_a_process_that_was_cut_off_goes_off() -> None:
    async with a_process() as (cluster, process):
        rung: list[str] = []
        process.call(cluster.clock.call_later, MINUTE, lambda: rung.append("dead"))
        cluster.clock.call_later(MINUTE, lambda: rung.append("alive"))
        process.cut()
        await cluster.wait(2 * MINUTE)
        assert rung == ["alive"]


def test_nothing_of_a_story_runs_in_a_thread() -> None:
    async def story(_loop: VirtualLoop) -> None:
        await StoryProcess("tested").spawn(asyncio.to_thread(int))

    with pytest.raises(EscapeError):
        run_virtually(story)
