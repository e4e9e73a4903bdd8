"""A controller that takes volumes back is cut off after each of its writes and driver calls.

Whatever it had done by then: no volume that a pod has used is deleted, none is lost sight of, and
every claim is there.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from plimsoll.simulator.stories.refusing_transport import asked
from plimsoll.simulator.stories.schedulers import nodes_of
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport
from tests.stories.test_unused_volumes import (
    CLAIM,
    RETAINED_BY,
    WORKLOADS,
    Scene,
    Workload,
    a_bare_pod,
    a_scene,
    a_set,
    bound_claim,
)

MOST_WRITES = 40
SOON = {"after": timedelta(seconds=20), "pause": timedelta(seconds=20)}
STUCK, ENOUGH = timedelta(seconds=45), timedelta(seconds=90)


async def cut_off_after(scene: Scene, number: int) -> bool:
    """The first controller is; whether it came to that. The next one goes on."""
    first = await scene.take_back(cut_after=number, **SOON)
    await scene.cluster.wait(ENOUGH)
    was_cut = first.is_cut_off
    await first.kill()
    scene.cluster.controllers.remove(first)
    await scene.take_back(**SOON)
    await scene.cluster.wait(ENOUGH)
    return was_cut


async def is_everything_well(scene: Scene) -> bool:
    claims = await scene.cluster.all(CLAIM)
    return (
        list((await nodes_of(scene.cluster)).values()) == ["node-b"]
        and [claim["status"]["phase"] for claim in claims] == ["Bound", "Bound"]
        and scene.storage.pools_used == [("pool-b",), ("pool-b",)]
        and await scene.is_nothing_leaked()
        and await scene.is_untouched()
        and await scene.records() == []
    )


@WORKLOADS
async def test_cut_off_after_any_write_the_next_one_brings_it_to_the_same_end(
    workload: Workload,
) -> None:
    for number in range(1, MOST_WRITES):
        async with a_scene() as scene:
            await workload(scene)
            await scene.cluster.wait(STUCK)
            was_cut = await cut_off_after(scene, number)
            assert await is_everything_well(scene), f"cut off after write {number}"
        if not was_cut:
            assert number > 8, "record, volume, claim, state, deletions and events are writes"
            return
    pytest.fail("it never came to an end of its writes")


@WORKLOADS
async def test_cut_off_when_the_driver_has_deleted_the_next_one_finds_it_gone(
    workload: Workload,
) -> None:
    async with a_scene() as scene:
        await workload(scene)
        await scene.cluster.wait(STUCK)
        first = await scene.take_back(**SOON)
        deleted: list[str] = []

        def cut(call: str) -> None:
            if call == "DeleteNeverPublished":
                deleted.append(call)
                first.cut_off()

        scene.storage.on_effect = cut
        await scene.cluster.wait(ENOUGH)
        assert deleted == ["DeleteNeverPublished"]
        await first.kill()
        scene.cluster.controllers.remove(first)
        scene.storage.on_effect = lambda _: None
        await scene.take_back(**SOON)
        await scene.cluster.wait(ENOUGH)
        assert await is_everything_well(scene)


async def test_a_volume_that_is_used_after_a_cut_is_never_deleted() -> None:
    """As soon as the controller is gone, a pod on node-a uses the volume while it can."""
    for number in range(1, MOST_WRITES):
        async with a_scene() as scene:
            await a_bare_pod(scene)
            await scene.cluster.wait(STUCK)
            name = await bound_claim(scene)
            first = await scene.take_back(cut_after=number, **SOON)
            await scene.cluster.wait(ENOUGH)
            was_cut = first.is_cut_off
            await first.kill()
            scene.cluster.controllers.remove(first)
            claim = await scene.cluster.find(CLAIM, name)
            is_there = claim is not None and claim["spec"].get("volumeName")
            if was_cut and claim is not None and is_there:
                await scene.use(name)
            used = {v.id for v in scene.storage.driver.ledger.volumes.all() if v.first_published_at}
            await scene.take_back(**SOON)
            await scene.cluster.wait(ENOUGH)
            assert used <= set(scene.storage.ids), f"used after write {number}"
            assert await scene.is_nothing_leaked(), f"used after write {number}"
        if not was_cut:
            return
    pytest.fail("it never came to an end of its writes")


async def test_with_a_foreign_driver_what_cannot_be_proven_any_more_is_kept_or_put_back() -> None:
    for number in range(1, MOST_WRITES):
        async with a_scene(is_foreign=True) as scene:
            first = await scene.take_back(cut_after=number, **SOON)
            await a_set(scene)
            await scene.cluster.wait(ENOUGH)
            was_cut = first.is_cut_off
            await first.kill()
            scene.cluster.controllers.remove(first)
            await scene.take_back(**SOON)
            await scene.cluster.wait(ENOUGH)
            assert await scene.is_nothing_leaked(), f"cut off after write {number}"
            names = await scene.cluster.names(CLAIM)
            assert names == ["first-web-0", "second-web-0"], f"cut off after write {number}"
            kept = [v for v in await scene.volumes() if RETAINED_BY in v["metadata"]["annotations"]]
            assert all(v["metadata"].get("deletionTimestamp") for v in kept), number
            assert await scene.records() == [], f"cut off after write {number}"
        if not was_cut:
            return
    pytest.fail("it never came to an end of its writes")


class LosingTransport:
    """Implements Transport. The first record that is created gets no answer: the server ended
    before it arrived, or after it was stored."""

    def __init__(
        self, inner: Transport, *, is_stored: bool, happens: Callable[[], Awaitable[None]]
    ) -> None:
        self._inner = inner
        self._is_stored = is_stored
        self._happens = happens
        self._is_lost = False

    async def request(self, request: Request) -> Response:
        if self._is_lost or asked(request) != ("create", "leases"):
            return await self._inner.request(request)
        self._is_lost = True
        if self._is_stored:
            await self._inner.request(request)
        await self._happens()
        raise KubeError(Failure.UNKNOWN_OUTCOME, "the connection broke")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        async with self._inner.stream(request) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()


async def nothing_happens() -> None:
    pass


@pytest.mark.parametrize("is_stored", [False, True], ids=["not stored", "stored"])
async def test_a_server_that_ends_while_the_record_is_stored_costs_seconds(
    *, is_stored: bool
) -> None:
    """Not the pause that a claim has after a rollback that was put back."""
    async with a_scene() as scene:
        await a_bare_pod(scene)
        await scene.cluster.wait(STUCK)

        def through(inner: Transport) -> Transport:
            return LosingTransport(inner, is_stored=is_stored, happens=nothing_happens)

        await scene.take_back(after=SOON["after"], through=through)
        await scene.cluster.wait(ENOUGH)
        assert await is_everything_well(scene)


async def test_a_record_that_was_stored_without_an_answer_is_settled_though_its_pod_is_gone() -> (
    None
):
    async with a_scene() as scene:
        await a_bare_pod(scene)
        await scene.cluster.wait(STUCK)

        async def user_deletes_the_pod() -> None:
            await scene.cluster.delete("Pod", "web", grace=0)

        def through(inner: Transport) -> Transport:
            return LosingTransport(inner, is_stored=True, happens=user_deletes_the_pod)

        await scene.take_back(after=SOON["after"], through=through)
        await scene.cluster.wait(ENOUGH)
        assert await scene.records() == []
        assert await scene.is_untouched()
        assert await scene.is_nothing_leaked()
