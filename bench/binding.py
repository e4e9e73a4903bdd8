"""How long claims and volumes take to find each other, and how that grows with their number.

As many claims as volumes, of ten sizes, through the real control loop and the embedded server in
one process, each write included.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta

from bench.measurement import Measurement
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.apiserver.admission.chain import FINISHED_BY_CONTROLLERS
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import ServerOptions, limits_for, make_server, running
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.cache.store import StoreChange
from plimsoll.processes.controller.storage.binding import Binding
from plimsoll.reconcile.loop import Tools
from plimsoll.reconcile.running import LoopEnvironment, RunningLoops
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import system_chance, system_ids
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

COUNTS = (1_000, 3_000, 10_000)
SIZES = 10
CLAIMS, VOLUMES = typed(PersistentVolumeClaim), typed(PersistentVolume)


def claim(number: int) -> Document:
    return {
        "metadata": {"name": f"claim-{number}", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{number % SIZES + 1}Gi"}},
            "storageClassName": "bench",
        },
    }


def volume(number: int) -> Document:
    return {
        "metadata": {"name": f"volume-{number}"},
        "spec": {
            "capacity": {"storage": f"{number % SIZES + 1}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "bench",
            "csi": {"driver": "disk.example.com", "volumeHandle": f"handle-{number}"},
        },
    }


class BoundClaims:
    """Counts claims as their binding is seen to be complete."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._bound: set[ObjectKey] = set()
        self.all_bound = asyncio.Event()

    def observe(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        if change.after is not None and change.after.status.phase == "Bound":
            self._bound.add(change.key)
            if len(self._bound) == self._wanted:
                self.all_bound.set()


async def seconds_to_bind(count: int) -> float:
    clock, limits = SystemClock(), limits_for(timedelta(minutes=5))
    server = make_server(
        MemoryStore(),
        clock,
        system_ids(),
        limits,
        options=ServerOptions(disabled_plugins=FINISHED_BY_CONTROLLERS),
    )
    async with running(server):
        client = KubeClient(InProcessTransport(server), clock=clock, chance=system_chance())
        for number in range(count):
            await client.create(VOLUMES, volume(number))
            await client.create(CLAIMS, claim(number))
        bound = BoundClaims(count)

        def make(tools: Tools) -> Binding:
            tools.observed.of(PersistentVolumeClaim).on_change(bound.observe)
            return Binding(tools)

        began = time.monotonic()
        loops = RunningLoops({"binding": make}, LoopEnvironment(client=client, component="bench"))
        task = asyncio.ensure_future(loops.run())
        await bound.all_bound.wait()
        seconds = time.monotonic() - began
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return seconds


def measure_binding(say: Callable[[str], None]) -> list[Measurement]:
    """For each number of claims, and how much worse than linear the growth is (1: not at all)."""
    seconds: dict[int, float] = {}
    for count in COUNTS:
        say(f"  binding: {count:,} claims to {count:,} volumes")
        seconds[count] = asyncio.run(seconds_to_bind(count))
    found = [
        Measurement(
            name=f"{count:,} claims bound to {count:,} volumes",
            value=taken,
            unit="s",
            better="lower",
        )
        for count, taken in seconds.items()
    ]
    first, last = COUNTS[0], COUNTS[-1]
    growth = (seconds[last] / seconds[first]) / (last / first)
    return [
        *found,
        Measurement(
            name=f"time per claim, {last:,} over {first:,}", value=growth, unit="x", better="lower"
        ),
    ]
