"""An API server whose watchers come and go, while others write: its memory and file stay flat.

Watchers are of three sorts: those that read and leave in peace, those that never read what they
are sent, and those whose connection is cut. What is written is a fixed number of objects, again and
again. Memory and file size are sampled all the time. When the server has warmed up, the middle
value of the second half must not lie above that of the first by more than a little. When all have
left, the server holds no connection of theirs.
"""

import asyncio
import contextlib
import itertools
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import uvloop

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import resources_by_kind
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import system_chance
from plimsoll.wire.connect import connect
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment
from plimsoll.wire.parameters import merge_patch
from tests.servers import EmbeddedServer, Endpoint

Say = Callable[[str], None]
KIBIBYTE, MEBIBYTE = 1 << 10, 1 << 20
HISTORY_SECONDS = 2
"""Short, so that the server forgets as fast as it learns long before the end."""
WRITERS, OBJECTS = 4, 40
LARGEST_TEXT = 4 * KIBIBYTE
WATCHERS_EVERY_SECONDS = 0.08
LONGEST_WATCH_SECONDS = 5.0
SAMPLE_SECONDS = 0.25
WARM_UP = 0.4
"""The part of the time that is not compared."""
GROWTH = 1.05
SLACK_BYTES = 4 * MEBIBYTE
LEFT_SECONDS = 60
SPARE_FILES = 4
"""What the server may have opened meanwhile for itself."""
CONFIG_MAPS = documents(resources_by_kind()["", "v1", "ConfigMap"])


@dataclass(slots=True)
class Samples:
    memory_bytes: list[int] = field(default_factory=list)
    file_bytes: list[int] = field(default_factory=list)


def run(seconds: float, seed: int, say: Say) -> None:
    """Raises AssertionError."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-soak-") as directory:
        flags = ("--history-seconds", str(HISTORY_SECONDS), "--log-level", "warning")
        with EmbeddedServer(Path(directory), *flags) as server:
            uvloop.run(_soaked(server, Soak(seconds, Random(seed)), say))


@dataclass(slots=True)
class Soak:
    seconds: float
    chance: Random
    samples: Samples = field(default_factory=Samples)
    watchers: Counter[str] = field(default_factory=Counter)
    writes: int = 0


async def _soaked(server: EmbeddedServer, soak: Soak, say: Say) -> None:
    before = _open_files(server.pid)
    tasks = [asyncio.ensure_future(_write(server.endpoint, soak, each)) for each in range(WRITERS)]
    tasks.append(asyncio.ensure_future(_watch(server.endpoint, soak)))
    tasks.append(asyncio.ensure_future(_sample(server, soak.samples)))
    await asyncio.wait(tasks, timeout=soak.seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    failed = [each for each in ended if isinstance(each, Exception)]
    assert not failed, f"the server did not keep up: {failed}"
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(soak.watchers.items()))
    say(f"{soak.writes} writes, {soak.watchers.total()} watchers: {kinds}")
    _assert_flat("memory", soak.samples.memory_bytes, say)
    _assert_flat("file", soak.samples.file_bytes, say)
    await _assert_left(server, before)


def _assert_flat(what: str, samples: list[int], say: Say) -> None:
    first, second = warm_halves(samples)
    told = f"{what}: {first / MEBIBYTE:.1f} MiB, later {second / MEBIBYTE:.1f} MiB"
    say(told)
    assert is_flat(first, second), f"grows: {told}"


def warm_halves(samples: list[int]) -> tuple[float, float]:
    """The middle values of the first and of the second half, once the server is warm."""
    warm = samples[int(len(samples) * WARM_UP) :]
    half = len(warm) // 2
    return statistics.median(warm[:half]), statistics.median(warm[half:])


def is_flat(first: float, second: float) -> bool:
    return second <= first * GROWTH + SLACK_BYTES


async def _assert_left(server: EmbeddedServer, before: int) -> None:
    """The server notices at its next write, or when its own limit for a write has passed."""
    deadline = asyncio.get_running_loop().time() + LEFT_SECONDS
    while (found := _open_files(server.pid)) > before + SPARE_FILES:
        in_time = asyncio.get_running_loop().time() < deadline
        assert in_time, f"the server has {found} files open, {before} before"
        await asyncio.sleep(SAMPLE_SECONDS)


async def _sample(server: EmbeddedServer, samples: Samples) -> None:
    while True:
        samples.memory_bytes.append(await asyncio.to_thread(_resident, server.pid))
        samples.file_bytes.append(await asyncio.to_thread(_stored, server.data))
        await asyncio.sleep(SAMPLE_SECONDS)


def _resident(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    (line,) = [each for each in text.splitlines() if each.startswith("VmRSS:")]
    return int(line.split()[1]) * KIBIBYTE


def _open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _stored(data: Path) -> int:
    """With the log that is written ahead of it."""
    return sum(path.stat().st_size for path in data.glob("plimsoll.db*"))


async def _write(endpoint: Endpoint, soak: Soak, number: int) -> None:
    """Creates, patches and deletes objects of its own."""
    client = _client(endpoint.kubeconfig)
    chance, there = Random(soak.chance.random()), set[str]()
    try:
        while True:
            name = f"w{number}-{chance.randrange(OBJECTS)}"
            data = {"text": "x" * chance.randint(1, LARGEST_TEXT)}
            key = ObjectKey("default", name)
            if name not in there:
                metadata = {"name": name, "namespace": "default"}
                document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                await client.create(CONFIG_MAPS, document | {"data": data})
                there.add(name)
            elif chance.random() < 0.2:
                await client.delete(CONFIG_MAPS, key)
                there.remove(name)
            else:
                await client.patch(CONFIG_MAPS, key, merge_patch({"data": data}))
            soak.writes += 1
    finally:
        await client.close()


def _client(kubeconfig: Path) -> KubeClient:
    around = KubeconfigEnvironment(environment={}, clock=SystemClock())
    return connect(ConnectionOptions(kubeconfig=str(kubeconfig)), around, system_chance())


async def _watch(endpoint: Endpoint, soak: Soak) -> None:
    """One watcher after the other begins; each stays as long as chance has it."""
    async with asyncio.TaskGroup() as watchers:
        for kind in itertools.cycle(("reading", "deaf", "cut")):
            stay = soak.chance.uniform(0, LONGEST_WATCH_SECONDS)
            watchers.create_task(_watcher(endpoint, kind, stay))
            soak.watchers[kind] += 1
            await asyncio.sleep(WATCHERS_EVERY_SECONDS)


async def _watcher(endpoint: Endpoint, kind: str, stay: float) -> None:
    reader, writer = await asyncio.open_connection(
        endpoint.host, endpoint.port, ssl=endpoint.context(), limit=64 * KIBIBYTE
    )
    path = "/api/v1/configmaps?watch=true&sendInitialEvents=true"
    path += "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    head = f"GET {path} HTTP/1.1\r\nHost: {endpoint.host}\r\nAuthorization: Bearer {endpoint.token}"
    writer.write(f"{head}\r\n\r\n".encode())
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(stay):
                if kind == "deaf":
                    await asyncio.Event().wait()
                while await reader.read(64 * KIBIBYTE):
                    pass
    finally:
        if kind == "cut":
            writer.transport.abort()
        else:
            writer.close()
