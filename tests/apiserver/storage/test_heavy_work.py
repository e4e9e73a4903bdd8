"""Large writes are worked on one at a time, and users take turns."""

import asyncio

import pytest

from plimsoll.apiserver.storage.heavy_work import HeavyWork
from plimsoll.runtime.clock import settle


async def write(work: HeavyWork, user: str, done: list[str]) -> None:
    async with work.writing(user):
        await asyncio.sleep(0)
        done.append(user)


async def test_one_write_of_a_user_waits_for_one_of_a_user_with_many() -> None:
    work, done = HeavyWork(inline=True), list[str]()
    many = [asyncio.ensure_future(write(work, "many", done)) for _ in range(5)]
    await asyncio.sleep(0)

    one = asyncio.ensure_future(write(work, "one", done))
    await asyncio.gather(one, *many)

    assert done == ["many", "many", "one", "many", "many", "many"]


@pytest.mark.parametrize("when", ["before-its-turn", "at-its-turn"])
async def test_a_write_that_its_client_gives_up_leaves_its_turn_to_the_next(when: str) -> None:
    work, done = HeavyWork(inline=True), list[str]()
    async with work.writing("first"):
        given_up = asyncio.ensure_future(write(work, "gone", done))
        kept = asyncio.ensure_future(write(work, "kept", done))
        await settle()
        if when == "before-its-turn":
            given_up.cancel()
    given_up.cancel()
    await asyncio.gather(kept, write(work, "later", done))

    assert done == ["kept", "later"]
