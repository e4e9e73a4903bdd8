"""What is around the work of a process: pages, readiness, and the wait for leadership."""

import asyncio
from datetime import timedelta
from functools import partial
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.processes.controller.settings import ControllerSettings
from plimsoll.reconcile.process import LoopProcess, PagesAddress, run_until_signalled
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.wire.health import OK
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.probe import is_answered

LEASE = ObjectKey("kube-system", "work")
OPTIONS = ControllerSettings()


class Worked:
    def __init__(self) -> None:
        self.is_synced = False
        self.began = asyncio.Event()

    async def run(self) -> None:
        self.began.set()
        await asyncio.Event().wait()


def a_copy(cluster: StoryCluster, *, elects: bool) -> LoopProcess:
    transport = InProcessTransport(cluster.server)
    client = KubeClient(transport, clock=cluster.clock, chance=Random(1))
    return LoopProcess(client, elects=elects)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", "http://127.0.0.1:9"), ("", "http://127.0.0.1:9"), ("::1", "http://[::1]:9")],
)
def test_an_address_is_told_as_a_url(host: str, expected: str) -> None:
    assert PagesAddress(host=host, port=0).url(9) == expected


async def test_work_is_told_where_its_pages_are() -> None:
    told: list[str] = []

    async def work(url: str) -> None:
        told.append(url)
        assert await is_answered(f"{url}/healthz", timedelta(seconds=5))

    await run_until_signalled(work, {"/healthz": lambda: OK}, PagesAddress(port=0))
    assert told[0].startswith("http://127.0.0.1:")


async def test_pages_without_an_address_are_not_served() -> None:
    told: list[str] = []

    async def work(url: str) -> None:
        told.append(url)

    await run_until_signalled(work, {}, None)
    assert told == [""]


@pytest.mark.virtual_time
async def test_a_process_without_an_election_begins_at_once() -> None:
    async with a_cluster() as cluster:
        process, work = a_copy(cluster, elects=False), Worked()
        assert process.candidacy(LEASE, OPTIONS) is None
        running = asyncio.ensure_future(
            process.lead(lambda: work, process.candidacy(LEASE, OPTIONS))
        )
        await work.began.wait()
        assert process.pages()["/readyz"]() != OK
        work.is_synced = True
        assert process.pages()["/readyz"]() == OK
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.virtual_time
async def test_a_copy_that_waits_for_the_lease_is_ready_and_has_not_begun() -> None:
    async with a_cluster() as cluster:
        copies = [a_copy(cluster, elects=True) for _ in range(2)]
        works = [Worked(), Worked()]
        running = []
        for number, copy in enumerate(copies):
            begin = partial(works.__getitem__, number)
            running.append(asyncio.ensure_future(copy.lead(begin, copy.candidacy(LEASE, OPTIONS))))
            await cluster.wait(timedelta(seconds=1))
        assert [work.began.is_set() for work in works] == [True, False]
        assert copies[1].pages()["/readyz"]() == OK
        for each in running:
            each.cancel()
        ending = asyncio.gather(*running, return_exceptions=True)
        await cluster.wait(timedelta(seconds=5))
        await ending
