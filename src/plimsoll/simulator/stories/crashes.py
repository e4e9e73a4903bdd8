"""A controller that is cut off after each single one of its writes, and started again.

Whatever it had done by then, the next one must come to the same end.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from plimsoll.simulator.stories.cluster import Make, StoryCluster, a_cluster
from plimsoll.simulator.stories.expectations import expect

LONGEST = 60
"""Writes; a scenario that needs more is too long for this."""

Step = Callable[[StoryCluster], Awaitable[None]]
Look = Callable[[StoryCluster], Awaitable[Any]]


@dataclass(frozen=True, kw_only=True)
class CrashScenario:
    loops: tuple[str, ...]
    arrange: Step
    """Before any controller runs."""
    look: Look
    """What must be the same in the end."""
    takes: timedelta = timedelta(minutes=2)
    more: Mapping[str, Make] = field(default_factory=dict)


async def undisturbed(scenario: CrashScenario) -> tuple[Any, int]:
    """The end, and after how many writes it was reached. A second run finds nothing to do."""
    async with a_cluster() as cluster:
        await scenario.arrange(cluster)
        controller = await cluster.start(*scenario.loops, more=scenario.more)
        await cluster.wait(scenario.takes)
        end = await scenario.look(cluster)
        await cluster.kill_controllers()
        second = await cluster.start(*scenario.loops, more=scenario.more)
        await cluster.wait(scenario.takes)
        expect("a second controller finds nothing to do", holds=second.writes == 0)
        expect("nothing changes any more", holds=await scenario.look(cluster) == end)
        return end, controller.writes


async def interrupted(scenario: CrashScenario, writes: int) -> AsyncIterator[tuple[int, Any]]:
    """The end for each write after which the first controller was cut off."""
    expect(f"{writes} writes are too many for this", holds=writes <= LONGEST)
    for cut_after in range(1, writes + 1):
        async with a_cluster() as cluster:
            await scenario.arrange(cluster)
            first = await cluster.start(*scenario.loops, more=scenario.more, cut_after=cut_after)
            await cluster.wait(scenario.takes)
            expect(f"write {cut_after} was reached", holds=first.is_cut_off)
            await cluster.kill_controllers()
            await cluster.start(*scenario.loops, more=scenario.more)
            await cluster.wait(scenario.takes)
            yield cut_after, await scenario.look(cluster)


async def assert_same_end(scenario: CrashScenario) -> Any:
    """Returns the end, for the story to say what it must be."""
    end, writes = await undisturbed(scenario)
    async for cut_after, other in interrupted(scenario, writes):
        expect(
            f"cut off after write {cut_after} of {writes}: {other}, not {end}", holds=other == end
        )
    return end
