"""What a cluster of `plimsoll up` costs in either form: start, memory, and pods to Running.

Three real nodes, and a StatefulSet whose pods have a volume each. Both forms take turns, and the
best of several starts counts: what the machine does besides only ever adds to it.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measurement import Measurement
from plimsoll.api.registry import Document
from plimsoll.ui.demo.objects import database, namespace
from plimsoll.ui.demo.stage import PODS
from plimsoll.wire.kind import Upserted
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection, WatchFrom
from tests.ui.started import client, create, delete_demo, short_directory, up

FORMS = {"light": (), "separate": ("--separate",)}
TURNS = 3
REPLICAS = 60
QUIET_SECONDS = 3
TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1024


async def measure_local_cluster(remark: Callable[[str], None]) -> list[Measurement]:
    found: dict[str, list[dict[str, float]]] = {form: [] for form in FORMS}
    for turn in range(TURNS):
        for form, options in FORMS.items():
            remark(f"plimsoll up, {form} form, turn {turn + 1} of {TURNS} …")
            measured = await _turn(options)
            remark("  " + ", ".join(f"{name} {value:.1f}" for name, value in measured.items()))
            found[form].append(measured)
    return [each for form, turns in found.items() for each in _best(form, turns)]


def _best(form: str, turns: list[dict[str, float]]) -> Iterator[Measurement]:
    def least(name: str) -> float:
        return min(turn[name] for turn in turns)

    for name, unit in (("start", "s"), ("start cpu", "s"), ("memory", "MiB"), ("pod cpu", "ms")):
        yield Measurement(name=f"up {form}: {name}", value=least(name), unit=unit, better="lower")
    fastest = max(turn["pods"] for turn in turns)
    yield Measurement(
        name=f"up {form}: pods to Running", value=fastest, unit="pods/s", better="higher"
    )


async def _turn(options: tuple[str, ...]) -> dict[str, float]:
    with short_directory() as data:
        began = time.monotonic()
        with up(data, *options) as supervisor:
            start, start_cpu = time.monotonic() - began, _cpu_seconds(supervisor.pid)
            await asyncio.sleep(QUIET_SECONDS)
            memory = sum(_pss_mib(pid) for pid in _processes(supervisor.pid))
            kube = client(data)
            cpu = _cpu_seconds(supervisor.pid)
            took = await _until_running(kube)
            pod_cpu = (_cpu_seconds(supervisor.pid) - cpu) / REPLICAS
            await delete_demo(kube)
            await kube.close()
    return {
        "start": start,
        "start cpu": start_cpu,
        "memory": memory,
        "pods": REPLICAS / took,
        "pod cpu": pod_cpu * 1000,
    }


async def _until_running(kube: KubeClient) -> float:
    await create(kube, namespace())
    page = await kube.list(PODS, Selection(namespace="demo"))
    start = WatchFrom(resource_version=page.resource_version)
    began, running = time.monotonic(), set[str]()
    await create(kube, _many())
    async with kube.watch(PODS, start, Selection(namespace="demo")) as events:
        async for event in events:
            if isinstance(event, Upserted) and event.object.status.phase == "Running":
                running.add(event.object.name)
            if len(running) == REPLICAS:
                break
    return time.monotonic() - began


def _many() -> Document:
    wanted = database()
    wanted["spec"]["replicas"] = REPLICAS
    wanted["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] = "zonal"
    return wanted


def _processes(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += _processes(int(child))
    return found


def _pss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / MIB for line in lines if line.startswith("Pss:"))


def _cpu_seconds(supervisor: int) -> float:
    """Of all processes that run, and of all that have ended: commands that mount and format."""
    total = 0
    for pid in _processes(supervisor):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(int(fields[number]) for number in (11, 12, 13, 14))
    return total / TICKS
