"""Ends processes of a cluster with SIGKILL, one after the other, by chance.

Any child that runs may be hit: also one that was started a moment ago and puts itself in order. The
supervisor waits longer before each start of a process that keeps ending; so that the load gets on
between the kills, none is done while several processes are down.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from conformance.kills.cluster import KilledCluster

SHORTEST_SECONDS, LONGEST_SECONDS = 1.0, 5.0
MOST_DOWN = 2
"""A process that was started and is not ready yet counts as running."""


@dataclass(slots=True)
class Killer:
    cluster: KilledCluster
    chance: Random
    kills: Counter[str] = field(default_factory=Counter)

    async def run(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        everything = len(self.cluster.children())
        while loop.time() < deadline:
            await asyncio.sleep(self.chance.uniform(SHORTEST_SECONDS, LONGEST_SECONDS))
            children = await asyncio.to_thread(self.cluster.children)
            if len(children) + MOST_DOWN <= everything:
                continue
            victim = self.chance.choice(children)
            if self.cluster.kill(victim):
                self.kills[victim.name] += 1
