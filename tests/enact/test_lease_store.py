import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.enact.lease_store import KubeLeaseStore
from plimsoll.runtime.clock import EPOCH, SteppedClock
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.runtime.leading.leader import Election, ElectionSettings, LeaseError, LeaseRecord
from plimsoll.wire.kube import KubeClient
from tests.enact.memory_api import MemoryApi

PATH = "/apis/coordination.k8s.io/v1/namespaces/plimsoll/leases/scheduler"
RECORD = LeaseRecord(
    holder="a", duration=timedelta(seconds=15), acquired_at=EPOCH, renewed_at=EPOCH, transitions=2
)


def a_store(api: MemoryApi, clock: SteppedClock | None = None) -> KubeLeaseStore:
    client = KubeClient(api, clock=clock or SteppedClock(), chance=Random(0))
    return KubeLeaseStore(client, ObjectKey("plimsoll", "scheduler"))


async def test_a_lease_is_written_in_the_fields_that_others_read() -> None:
    api = MemoryApi()
    stored = await a_store(api).create(RECORD)
    assert api.objects[PATH]["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2024-01-01T00:00:00.000000Z",
        "renewTime": "2024-01-01T00:00:00.000000Z",
        "leaseTransitions": 2,
    }
    assert stored.record == RECORD
    assert await a_store(api).read() == stored


async def test_a_lease_that_does_not_exist_is_none() -> None:
    assert await a_store(MemoryApi()).read() is None


async def test_a_lease_is_not_taken_from_a_candidate_that_was_faster() -> None:
    api = MemoryApi()
    mine, theirs = a_store(api), a_store(api)
    stored = await mine.create(RECORD)
    with pytest.raises(LeaseError):
        await theirs.create(RECORD)
    await theirs.read()
    await theirs.update(RECORD, stored.version)
    with pytest.raises(LeaseError):
        await mine.update(RECORD, stored.version)


async def test_what_others_wrote_into_the_lease_stays() -> None:
    api = MemoryApi()
    store = a_store(api)
    await store.create(RECORD)
    api.objects[PATH]["metadata"]["labels"] = {"theirs": "yes"}
    api.objects[PATH]["spec"]["strategy"] = "OldestEmulationVersion"
    stored = await store.read()
    assert stored is not None
    await store.update(RECORD, stored.version)
    assert api.objects[PATH]["metadata"]["labels"] == {"theirs": "yes"}
    assert api.objects[PATH]["spec"]["strategy"] == "OldestEmulationVersion"


async def test_two_candidates_share_one_lease() -> None:
    clock, api = SteppedClock(), MemoryApi()
    led: list[str] = []

    async def run(name: str) -> None:
        async def lead() -> None:
            led.append(name)
            await clock.sleep(timedelta(minutes=1))

        settings = ElectionSettings(identity=name)
        await Election(settings, a_store(api, clock), clock, Random(name)).run(lead)

    running = asyncio.gather(run("a"), run("b"))
    await clock.run(timedelta(seconds=59))
    assert led == ["a"]
    await clock.run(timedelta(seconds=10))
    assert led == ["a", "b"]
    await clock.run(timedelta(minutes=2))
    await running
    assert api.objects[PATH]["spec"]["leaseTransitions"] == 1


async def test_a_lease_tells_the_epoch_of_its_holder() -> None:
    api = MemoryApi()
    await a_store(api).create(RECORD)
    api.objects[PATH]["metadata"]["creationTimestamp"] = "2030-01-31T12:00:00Z"
    stored = await a_store(api).read()
    assert stored is not None
    assert stored.epoch == LeaderEpoch(
        lease="plimsoll/scheduler",
        lease_created_at=datetime(2030, 1, 31, 12, tzinfo=UTC),
        transitions=2,
    )


async def test_a_lease_tells_since_when_only_copies_of_ours_have_held_it() -> None:
    api = MemoryApi()
    first = await a_store(api).create(RECORD)
    assert first.own_since == 2
    store = a_store(api)
    held = await store.read()
    assert held is not None
    second = await store.update(replace(RECORD, holder="b", transitions=3), held.version)
    assert second.own_since == 2

    api.objects[PATH]["spec"] |= {"holderIdentity": "another program", "leaseTransitions": 4}
    store = a_store(api)
    foreign = await store.read()
    assert foreign is not None
    assert foreign.own_since is None
    third = await store.update(replace(RECORD, holder="c", transitions=5), foreign.version)
    assert third.own_since == 5
    fourth = await store.update(replace(RECORD, holder="d", transitions=6), third.version)
    assert fourth.own_since == 5, "who follows knows it as well"
