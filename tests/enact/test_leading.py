"""Of several copies one acts; the others wait until it lets go or is gone."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import make_server, running
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.enact.leading import Candidacy, LeadershipLostError, lead_as
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.leading.leader import ElectionSettings
from plimsoll.wire.kube import KubeClient

LEASE = ObjectKey("kube-system", "plimsoll-test")


def candidacy(name: str) -> Candidacy:
    return Candidacy(lease=LEASE, pace=ElectionSettings(identity=name))


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    clock = SteppedClock()
    server = make_server(MemoryStore(), clock, seeded_ids(1), HistoryLimits())
    async with running(server):
        yield KubeClient(InProcessTransport(server), clock=clock, chance=Random(1))


async def test_a_second_copy_does_not_act_while_the_first_leads(client: KubeClient) -> None:
    acting: list[str] = []

    async def lead(name: str) -> None:
        acting.append(name)
        await asyncio.Event().wait()

    copies = [
        asyncio.ensure_future(
            lead_as(client, candidacy(name), partial(lead, name), fence=Fence(client.clock))
        )
        for name in ("one", "two")
    ]
    await settle()
    assert len(acting) == 1

    for copy in copies:
        copy.cancel()
    await asyncio.gather(*copies, return_exceptions=True)


async def test_a_leader_that_stops_leading_says_so(client: KubeClient) -> None:
    async def lead() -> None:
        """There is nothing to do."""

    with pytest.raises(LeadershipLostError, match="another copy"):
        await lead_as(client, candidacy("one"), lead, fence=Fence(client.clock))
