"""From step to step: a run for each process and each of its steps, until it has no further one."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import uvloop

from conformance.every_step.cluster import SteppedCluster, a_cluster
from conformance.every_step.ending import clear
from conformance.every_step.paths import PATHS, KillPath
from conformance.every_step.scene import KilledScene, add_cluster_objects
from conformance.every_step.trap import KillMoment
from conformance.every_step.waiting import until, wrong_at_last
from plimsoll.wire.csi.errors import DriverError

Say = Callable[[str], None]
MOST_STEPS = 80
SAMPLED_STEPS = 12


@dataclass(frozen=True, slots=True)
class PlannedKill:
    path: KillPath
    victim: str
    moment: KillMoment
    number: int

    def __str__(self) -> str:
        return f"{self.path.name}: {self.victim} {self.moment} step {self.number}"


@dataclass(slots=True)
class Walked:
    """What came of it so far."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    problems: list[str] = field(default_factory=list)
    ends: dict[tuple[str, str, KillMoment], int] = field(default_factory=dict)
    """The first step that a process did not come to, by path, process and moment."""

    def is_beyond(self, kill: PlannedKill) -> bool:
        end = self.ends.get((kill.path.name, kill.victim, kill.moment))
        return end is not None and kill.number >= end

    def count(self, word: str) -> int:
        return sum(word in problem for problem in self.problems)

    def told(self) -> str:
        kills = ", ".join(f"{name} {number}" for name, number in sorted(self.kills.items()))
        return (
            f"{self.runs} runs, {self.kills.total()} kills ({kills}):"
            f" {self.count('leaked:')} leaked, {self.count('made twice:')} made twice,"
            f" {self.count('used volume deleted:')} used volumes deleted,"
            f" {len(self.problems)} problems in all"
        )


def every_kill(paths: tuple[KillPath, ...] = PATHS) -> Iterator[PlannedKill]:
    for path in paths:
        for victim in path.victims:
            for moment in KillMoment:
                for number in range(1, MOST_STEPS):
                    yield PlannedKill(path, victim, moment, number)


def sampled_kills(seed: int) -> Iterator[PlannedKill]:
    """The early steps of all, in the order of chance."""
    early = [kill for kill in every_kill() if kill.number <= SAMPLED_STEPS]
    Random(seed).shuffle(early)
    yield from early


def run(kills: Iterable[PlannedKill], say: Say, seconds: float = float("inf")) -> Walked:
    """Raises AssertionError with everything that is wrong."""
    walk = Walk([*kills], say, time.monotonic() + seconds)
    while walk.planned and not walk.is_over:
        with tempfile.TemporaryDirectory(prefix="steps-") as name:
            uvloop.run(walk.in_one_cluster(Path(name).resolve()))
    say(walk.walked.told())
    assert not walk.walked.problems, "; ".join(walk.walked.problems)
    return walk.walked


class Walk:
    def __init__(self, planned: list[PlannedKill], say: Say, until: float) -> None:
        self.planned = planned[::-1]
        """The next one last."""
        self.walked = Walked()
        self._say = say
        self._until = until

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._until

    async def in_one_cluster(self, directory: Path) -> None:
        """Until the end, or until something is wrong: then the next kill has a cluster anew."""
        async with a_cluster(directory) as cluster:
            await add_cluster_objects(cluster)
            await _warm_up(cluster)
            self._say("the cluster is up")
            while self.planned and not self.is_over:
                kill = self.planned.pop()
                if not self.walked.is_beyond(kill) and not await self._is_well(cluster, kill):
                    return

    async def _is_well(self, cluster: SteppedCluster, kill: PlannedKill) -> bool:
        began = time.monotonic()
        problems = await _play(cluster, kill, self.walked)
        step = cluster.trap.sprung
        self._say(f"{kill}: {step or 'it has none'}; {time.monotonic() - began:.1f} s")
        if not problems:
            return True
        self.walked.problems += [f"{kill} ({step}): {each}" for each in problems]
        kept = Path(tempfile.gettempdir()) / f"steps-{self.walked.runs}.log"
        kept.write_text("\n".join([str(kill), str(step), *problems, cluster.said()]))
        self._say(f"wrong: {'; '.join(problems)}; what the processes said is in {kept}")
        return False


async def _warm_up(cluster: SteppedCluster) -> None:
    """A run without a kill: the steps of the first start are not those of a path."""
    scene, path = KilledScene(cluster, 0), PATHS[0]
    await path.act(scene)
    problems = await _settled(scene, path) or await clear(scene)
    assert not problems, f"the cluster does not come up: {problems}; {cluster.said()}"


async def _play(cluster: SteppedCluster, kill: PlannedKill, walked: Walked) -> list[str]:
    walked.runs += 1
    scene, path = KilledScene(cluster, walked.runs), kill.path
    await until("each process leads", cluster.is_ready)
    await path.prepare(scene)
    cluster.trap.set(kill.victim, kill.number, kill.moment, cluster.processes[kill.victim].kill)
    await path.act(scene)
    problems = await _settled(scene, path)
    cluster.trap.disarm()
    if cluster.trap.sprung is None:
        walked.ends[path.name, kill.victim, kill.moment] = kill.number
    else:
        walked.kills[kill.victim] += 1
    return problems or await clear(scene)


async def _settled(scene: KilledScene, path: KillPath) -> list[str]:
    """What is still wrong when the time is up."""

    async def wrong() -> list[str]:
        try:
            return await path.wrong(scene)
        except DriverError as error:
            return [f"a driver is down: {error}"]

    return await wrong_at_last(wrong)
