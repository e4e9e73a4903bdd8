"""The story of a cluster that is killed at random."""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import uvloop

from conformance.kills import end
from conformance.kills.client import EnduringClient, connected
from conformance.kills.cluster import KilledCluster, release, started
from conformance.kills.killer import Killer
from conformance.kills.load import CLASSES, Load
from conformance.kills.volumes import Files
from plimsoll.ui.demo.objects import namespace

Say = Callable[[str], None]
READY_SECONDS = 180
SETTLE_SECONDS = 300
TELL_SECONDS = 20.0


def run(seconds: float, seed: int, say: Say) -> None:
    """Raises AssertionError with everything that is wrong."""
    say(f"{seconds:.0f} s of kills with seed {seed}")
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        directory = Path(name).resolve()
        log = directory / "up.log"
        try:
            with started(directory / "c", log) as cluster:
                say("the cluster is up")
                uvloop.run(_story(cluster, Kills(seconds, Random(seed)), say))
        except BaseException:
            kept = Path(tempfile.gettempdir()) / f"kills-{seed}.log"
            kept.write_bytes(log.read_bytes())
            say(f"what the cluster said is in {kept}")
            raise
        finally:
            release(directory)


@dataclass(frozen=True, slots=True)
class Kills:
    seconds: float
    chance: Random


async def _story(cluster: KilledCluster, kills: Kills, say: Say) -> None:
    async with connected(cluster.kubeconfig) as client:
        await client.create(namespace())
        async with asyncio.timeout(READY_SECONDS):
            free = await end.capacity_once_steady(client, len(CLASSES))
        cluster.slow_down_network_storage()
        say(f"capacity is published in {len(free)} places")
        files = Files(cluster, client, Random(kills.chance.random()))
        load = Load(client=client, files=files, chance=Random(kills.chance.random()))
        problems = await _under_fire(cluster, load, kills, say)
        problems += await _nothing_lost(load, say)
        problems += await _nothing_left(cluster, client, free, say)
    assert not problems, "; ".join(problems)


async def _under_fire(cluster: KilledCluster, load: Load, kills: Kills, say: Say) -> list[str]:
    killer = Killer(cluster, Random(kills.chance.random()))
    async with asyncio.TaskGroup() as tasks:
        told = tasks.create_task(_tell(load, killer.kills, say))
        working = tasks.create_task(load.run(kills.seconds))
        await killer.run(kills.seconds)
        say(f"{killer.kills.total()} kills: {_counted(killer.kills)}")
        began = time.monotonic()
        await asyncio.wait((working,), timeout=SETTLE_SECONDS)
        working.cancel()
        told.cancel()
    say(f"settled {time.monotonic() - began:.0f} s after the last kill")
    stuck = [f"{name} never ended: {what}" for name, what in load.doing.items()]
    say(f"acknowledged objects: {_counted(load.client.made)}; steps: {_counted(load.steps)}")
    say(f"{load.client.outages} requests had no answer and were repeated")
    return load.problems + stuck


async def _tell(load: Load, kills: Counter[str], say: Say) -> None:
    while True:
        await asyncio.sleep(TELL_SECONDS)
        say(f"{kills.total()} kills, {load.steps.total()} steps; {load.doing}")


async def _nothing_lost(load: Load, say: Say) -> list[str]:
    problems = await end.lost(load.client)
    say(f"{len(load.client.promised)} acknowledged objects looked for, {len(problems)} lost")
    try:
        async with asyncio.timeout(SETTLE_SECONDS):
            problems += await end.check_data(load)
    except TimeoutError:
        problems.append("a volume that stayed, or that was restored at the end, cannot be used")
    kept, files = load.kept, load.files
    say(
        f"{files.written} files written, {files.compared} checksums compared; at the end those of"
        f" {len(kept.volumes)} volumes and {len(kept.snapshots)} snapshots"
    )
    return problems


async def _nothing_left(
    cluster: KilledCluster, client: EnduringClient, free: end.Capacity, say: Say
) -> list[str]:
    problems = await end.delete_everything(client)
    problems += await end.settle_intents(client)
    left = await asyncio.to_thread(end.assets, cluster)
    problems += [f"leaked: {asset}" for asset in left]
    problems += await end.capacity_lost(client, free)
    problems += await end.left_on_the_machine(cluster)
    say(f"after deleting everything: {len(left)} leaks")
    return problems


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
