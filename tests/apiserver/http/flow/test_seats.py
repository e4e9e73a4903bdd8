"""Seats are shared: who asks for much waits, others hardly notice."""

import asyncio
from datetime import timedelta

import pytest

from plimsoll.apiserver.http.flow.levels import PriorityLevel
from plimsoll.apiserver.http.flow.seats import LONGEST_WAIT, FairSeats, Seat, width_of_list
from plimsoll.apiserver.model.status import ApiError
from plimsoll.runtime.clock import SteppedClock, settle

FOUR = PriorityLevel("four", 4, most_waiting=5)
SECOND = timedelta(seconds=1)


async def taken(seats: FairSeats, user: str, number: int) -> list["asyncio.Task[Seat]"]:
    asked = [asyncio.ensure_future(seats.take(user)) for _ in range(number)]
    await settle()
    return asked


def seated(asked: list["asyncio.Task[Seat]"]) -> int:
    return sum(future.done() for future in asked)


async def leave(*asked: "asyncio.Task[Seat]") -> None:
    for future in asked:
        future.cancel()
    await asyncio.gather(*asked, return_exceptions=True)


async def test_one_user_leaves_a_seat_for_the_next(clock: SteppedClock) -> None:
    seats = FairSeats(FOUR, clock)

    flood = await taken(seats, "flood", 6)
    other = await taken(seats, "other", 1)

    assert (seated(flood), seated(other)) == (3, 1)
    await leave(*flood, *other)


async def test_the_user_who_was_served_least_goes_next(clock: SteppedClock) -> None:
    seats = FairSeats(FOUR, clock)
    flood = await taken(seats, "flood", 6)
    first = await taken(seats, "first", 3)
    clock.advance(SECOND)
    for future in (*flood[:2], first[0]):
        future.result().give_back()
    await settle()

    # Two seconds of one and one of the other: the second user goes first, then they take turns.
    assert (seated(flood), seated(first)) == (4, 3)
    await leave(*flood, *first)


async def test_too_many_waiting_requests_are_told_to_come_again(clock: SteppedClock) -> None:
    seats = FairSeats(FOUR, clock)
    flood = await taken(seats, "flood", 8)

    with pytest.raises(ApiError) as refused:
        await seats.take("flood")

    assert refused.value.code == 429
    assert refused.value.details == {"retryAfterSeconds": 1}
    assert seats.rejected["queue-full"] == 1
    await leave(*flood)


async def test_a_request_does_not_wait_for_ever(clock: SteppedClock) -> None:
    seats = FairSeats(FOUR, clock)
    flood = await taken(seats, "flood", 4)
    clock.advance(LONGEST_WAIT)
    await settle()

    with pytest.raises(ApiError, match="try again"):
        flood[3].result()

    assert (seats.in_queue, seats.executing) == (0, 3)
    await leave(*flood)


async def test_a_client_that_leaves_gives_its_place_back(clock: SteppedClock) -> None:
    seats = FairSeats(FOUR, clock)
    flood = await taken(seats, "flood", 5)

    await leave(flood[3])
    for future in flood[:3]:
        future.result().give_back()
        future.result().give_back()
    await settle()

    assert seated(flood) == 5
    flood[4].result().give_back()
    assert (seats.in_queue, seats.executing) == (0, 0)


async def test_long_lists_take_several_seats(clock: SteppedClock) -> None:
    seats = FairSeats(FOUR, clock)

    wide = await seats.take("a", width_of_list(100_000))

    assert seats.executing == 3
    wide.give_back()
    assert [width_of_list(number) for number in (0, 999, 1000, 5000)] == [1, 1, 2, 4]
