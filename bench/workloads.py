"""What is asked of the server, and what is counted.

Every workload speaks plain Kubernetes API, so that the same numbers can be had from any server.
"""

import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.connection import Connection, Watcher
from bench.measurement import Measurement
from bench.target import Target, machine_busy_seconds

Request = tuple[str, str, bytes, str]
"""Method, path, body, media type."""

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is done: enough to be steady, little enough to be patient with."""

    alone: int = 300
    """Requests of one client that waits for each answer."""
    together: int = 5_000
    """Requests of `clients` at the same time."""
    clients: int = 64
    pods: int = 10_000
    listed: int = 50_000
    watchers: int = 20
    watched: int = 1_000


async def measure(target: Target, scale: Scale, say: Callable[[str], None]) -> list[Measurement]:
    """All measurements, in the order in which the server fills up."""
    bench = Bench(target, scale)
    found = list(_at_rest(target))
    began, busy, own = time.monotonic(), machine_busy_seconds(), _own_seconds(target)
    for workload in (
        bench.create_config_maps,
        bench.patch_config_maps,
        bench.fan_out,
        bench.create_pods,
        bench.list_many,
    ):
        say(f"  {target.name}: {workload.__name__.replace('_', ' ')}")
        found += await workload()
    # What the neighbours took is what the numbers above may be too low by.
    foreign = machine_busy_seconds() - busy - (_own_seconds(target) - own)
    share = 100 * foreign / (time.monotonic() - began) / (os.cpu_count() or 1)
    found.append(
        Measurement(name="processors taken by others", value=max(share, 0), unit="%", better="")
    )
    return found


def _own_seconds(target: Target) -> float:
    """Processor time of server and driver."""
    return (target.cpu_seconds() or 0) + time.process_time()


def _at_rest(target: Target) -> Iterator[Measurement]:
    if target.ready_after is not None:
        yield Measurement(name="start to ready", value=target.ready_after, unit="s", better="lower")
    resident = target.resident_bytes()
    if resident is not None:
        yield Measurement(
            name="memory, idle", value=resident / MEBIBYTE, unit="MiB", better="lower"
        )


class Bench:
    """The workloads against one server. Names never repeat, so that any order would do."""

    def __init__(self, target: Target, scale: Scale) -> None:
        self._target = target
        self._scale = scale

    async def create_config_maps(self) -> list[Measurement]:
        await self._namespace("maps")
        path = "/api/v1/namespaces/maps/configmaps"
        alone = [_post(path, config_map(f"alone-{i}")) for i in range(self._scale.alone)]
        together = [_post(path, config_map(f"map-{i}")) for i in range(self._scale.together)]
        # The first requests pay for caches and connections that stay.
        await self._drive([_post(path, config_map(f"warm-{i}")) for i in range(200)], clients=4)
        return [
            await self._rate("config maps created, 1 client", alone, clients=1),
            await self._rate(
                f"config maps created, {self._scale.clients} clients",
                together,
                clients=self._scale.clients,
            ),
        ]

    async def patch_config_maps(self) -> list[Measurement]:
        def patches(names: str, count: int) -> list[Request]:
            path = f"/api/v1/namespaces/maps/configmaps/{names}-"
            body = b'{"data":{"touched":"%d"}}'
            return [("PATCH", f"{path}{i}", body % i, MERGE_PATCH) for i in range(count)]

        return [
            await self._rate(
                "config maps patched, 1 client", patches("alone", self._scale.alone), clients=1
            ),
            await self._rate(
                f"config maps patched, {self._scale.clients} clients",
                patches("map", self._scale.together),
                clients=self._scale.clients,
            ),
        ]

    async def create_pods(self) -> list[Measurement]:
        await self._namespace("pods")
        path = "/api/v1/namespaces/pods/pods"
        alone = [_post(path, pod(f"alone-{i}")) for i in range(self._scale.alone)]
        together = [_post(path, pod(f"pod-{i}")) for i in range(self._scale.pods)]
        found = [await self._rate("pods created, 1 client", alone, clients=1)]
        before = self._target.resident_bytes()
        clients = self._scale.clients
        found.append(
            await self._rate(f"pods created, {clients} clients", together, clients=clients)
        )
        after = self._target.resident_bytes()
        if before is not None and after is not None:
            grown = (after - before) / MEBIBYTE * 10_000 / self._scale.pods
            found.append(
                Measurement(name="memory per 10,000 pods", value=grown, unit="MiB", better="lower")
            )
        return found

    async def fan_out(self) -> list[Measurement]:
        """From the first write until the last watcher has seen the last event."""
        await self._namespace("watched")
        path = "/api/v1/namespaces/watched/configmaps"
        endpoint, count = self._target.endpoint, self._scale.watched
        watchers = [await Watcher.open(endpoint) for _ in range(self._scale.watchers)]
        for watcher in watchers:
            await watcher.watch(f"{path}?watch=true", wanted=count)
        began, cpu = time.monotonic(), self._target.cpu_seconds()
        await self._drive([_post(path, config_map(f"seen-{i}")) for i in range(count)], clients=16)
        await asyncio.gather(*(watcher.until_all_seen() for watcher in watchers))
        seconds = time.monotonic() - began
        for watcher in watchers:
            watcher.close()
        events = count * len(watchers)
        return [
            Measurement(
                name=f"events delivered to {len(watchers)} watchers",
                value=events / seconds,
                unit="events/s",
                better="higher",
                server_cpu_ms=self._cpu_ms_since(cpu, events),
            )
        ]

    async def list_many(self) -> list[Measurement]:
        await self._namespace("many")
        path = "/api/v1/namespaces/many/configmaps"
        many = [_post(path, config_map(f"many-{i}")) for i in range(self._scale.listed)]
        await self._drive(many, clients=self._scale.clients)
        whole, size = await self._listed(path)
        pages, _ = await self._listed(path, page=500)
        label = f"{self._scale.listed:,} objects"
        return [
            Measurement(name=f"list of {label}", value=whole, unit="s", better="lower"),
            Measurement(
                name=f"list of {label}, size", value=size / MEBIBYTE, unit="MiB", better="lower"
            ),
            Measurement(
                name=f"list of {label}, pages of 500", value=pages, unit="s", better="lower"
            ),
        ]

    async def _listed(self, path: str, page: int | None = None) -> tuple[float, int]:
        """Seconds and bytes of one list, whole or page by page."""
        connection = await Connection.open(self._target.endpoint)
        began, size, token, pages = time.monotonic(), 0, "", 0
        while True:
            pages += 1
            query = "" if page is None else f"?limit={page}{token}"
            answer = await connection.request("GET", path + query)
            if answer.status != 200:
                raise RuntimeError(f"list answered {answer.status}: {answer.body[:300]!r}")
            size += len(answer.body)
            following = None if page is None else _continue_token(answer.body)
            if not following:
                break
            token = f"&continue={following}"
        connection.close()
        if page is not None and pages * page < self._scale.listed:
            raise RuntimeError(f"the list ended after {pages} pages of {page}")
        return time.monotonic() - began, size

    async def _namespace(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await self._drive([_post("/api/v1/namespaces", body)], clients=1)

    async def _rate(self, name: str, requests: list[Request], *, clients: int) -> Measurement:
        cpu = self._target.cpu_seconds()
        began = time.monotonic()
        latencies = await self._drive(requests, clients=clients)
        seconds = time.monotonic() - began
        percentiles = statistics.quantiles(latencies, n=100)
        return Measurement(
            name=name,
            value=len(requests) / seconds,
            unit="per s",
            better="higher",
            p50_ms=percentiles[49] * 1000,
            p99_ms=percentiles[98] * 1000,
            server_cpu_ms=self._cpu_ms_since(cpu, len(requests)),
        )

    def _cpu_ms_since(self, before: float | None, operations: int) -> float | None:
        after = self._target.cpu_seconds()
        return None if before is None or after is None else (after - before) * 1000 / operations

    async def _drive(self, requests: Iterable[Request], *, clients: int) -> list[float]:
        """Sends them all, `clients` at a time; the seconds each one took."""
        waiting = iter(requests)
        latencies: list[float] = []

        async def client() -> None:
            connection = await Connection.open(self._target.endpoint)
            for method, path, body, media_type in waiting:
                sent = time.monotonic()
                answer = await connection.request(method, path, body, media_type)
                latencies.append(time.monotonic() - sent)
                if answer.status not in (200, 201):
                    raise RuntimeError(
                        f"{method} {path} answered {answer.status}: {answer.body[:300]!r}"
                    )
            connection.close()

        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(client())
        return latencies


def _post(path: str, document: dict[str, Any]) -> Request:
    return "POST", path, json.dumps(document, separators=(",", ":")).encode(), JSON


def _continue_token(body: bytes) -> str | None:
    # Only the head of a page is looked at: parsing it all would be measured as well.
    _, found, rest = body[:1000].partition(b'"continue":"')
    if not found:
        _, found, rest = body[-1000:].partition(b'"continue":"')
    return rest.partition(b'"')[0].decode() if found else None


def config_map(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "data": {"key": "value", "text": "x" * 100},
    }


def pod(name: str) -> dict[str, Any]:
    """A pod as a StatefulSet would make it: one container, one claim, some labels."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "data"}},
        "spec": {
            "schedulerName": "plimsoll",
            "containers": [
                {
                    "name": "main",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }
            ],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}],
        },
    }
