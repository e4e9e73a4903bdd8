"""A whole cluster in one event loop, for stories: the embedded server, chosen control loops, and
the nodes' part played by the test.

    async with a_cluster("statefulset") as cluster:
        await cluster.create(document)
        await cluster.settle()
        await cluster.run_pods()

Time stands still unless a story lets it pass: `settle` allows for a few seconds, in which retries
happen; `wait` takes as long as it is told. A bug in a loop fails the story at the next of these.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from plimsoll.api.meta import ObjectKey, wire_time
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.chain import FINISHED_BY_CONTROLLERS
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import ServerOptions, limits_for, make_server, running
from plimsoll.apiserver.server import ApiServer
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.processes.controller.loops import LOOPS
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.clock import settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.metrics import Metrics
from plimsoll.simulator.cluster.objects import key_in, kind_named, kind_of
from plimsoll.simulator.engine.chance import seeded
from plimsoll.simulator.stories.expectations import BrokenExpectationError
from plimsoll.simulator.stories.refusing_transport import (
    RefusingTransport,
    Rule,
    open_to_all,
)
from plimsoll.simulator.stories.story_clock import RunClock, StoryClock
from plimsoll.simulator.stories.story_process import StoryLife, StoryLink, StoryProcess
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import key_of
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Deletion, Selection, WriteOptions, merge_patch
from plimsoll.wire.transport import Transport

SOON = timedelta(seconds=2)
HISTORY = timedelta(hours=12)

Make = Callable[[Tools], Loop]
Through = Callable[[Transport], Transport]
"""What lies between a process and the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerLife:
    """What befalls one controller."""

    seed: int = 1
    cut_after: int | None = None
    """The number of the write after which it does nothing any more."""
    rule: Rule = open_to_all
    """What the server refuses it."""
    fence: Fence | None = None
    """Of a leader, where one is elected."""
    through: Through = lambda transport: transport
    """What else lies between it and the server."""


USUAL_LIFE = ControllerLife()


class Controller(StoryLife):
    """One life of the controller process: its loops, its cache, its connection to the server."""

    def __init__(
        self,
        server: ApiServer,
        clock: RunClock,
        loops: Mapping[str, Make],
        life: ControllerLife = USUAL_LIFE,
    ) -> None:
        self._process = StoryProcess("controller")
        transport = RefusingTransport(life.through(InProcessTransport(server)), life.rule)
        self.passed = transport.passed
        """What it has asked the server for, by verb and resource."""
        self._link = StoryLink(self._process, transport, cut_after=life.cut_after)
        chance, ids, metrics = seeded(life.seed), seeded_ids(life.seed), Metrics()
        client = KubeClient(self._link, clock=clock, chance=chance, manager="plimsoll-controller")
        self._recorder = EventRecorder(
            client, RecorderSettings(component="plimsoll-controller"), ids=ids, metrics=metrics
        )
        self.tools = Tools(
            client=client,
            observed=Observed(client),
            enactor=Enactor(client, self._recorder),
            clock=clock,
            ids=ids,
            chance=chance,
            metrics=metrics,
            fence=life.fence or Fence.left_open(clock),
        )
        self.loops = {name: make(self.tools) for name, make in loops.items()}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        runs = [*self.tools.observed.start().values(), self._recorder.run, self._run_loops]
        self._tasks = [self._process.spawn(_forever(run)) for run in runs]
        await settle()

    async def _run_loops(self) -> None:
        await self.tools.observed.synced()
        async with asyncio.TaskGroup() as group:
            for loop in self.loops.values():
                group.create_task(loop.run())

    def check(self) -> None:
        """Raises what ended one of its tasks."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def kill(self) -> None:
        """It ends without any farewell."""
        await self._process.bury()
        self._tasks = []


async def _forever(run: Callable[[], Awaitable[None]]) -> None:
    await run()


class StoryCluster:
    """What a story does with its cluster. Kinds are named as in a document: `Pod`."""

    def __init__(self, server: ApiServer, clock: RunClock) -> None:
        self.server = server
        self.clock = clock
        self.client = KubeClient(
            InProcessTransport(server), clock=clock, chance=seeded(0), manager="story"
        )
        self.controllers: list[Controller] = []
        self._lives = 0

    # The controller

    async def start(
        self, *loops: str, more: Mapping[str, Make] | None = None, **life: Any
    ) -> Controller:
        """Start a controller with these loops; `more` are loops that are not in the table, `life`
        the fields of its ControllerLife."""
        self._lives += 1
        chosen = {name: LOOPS[name].make for name in loops} | dict(more or {})
        befalls = ControllerLife(seed=self._lives, **life)
        controller = Controller(self.server, self.clock, chosen, befalls)
        self.controllers.append(controller)
        await controller.start()
        return controller

    async def kill_controllers(self) -> None:
        for controller in self.controllers:
            await controller.kill()
        self.controllers.clear()

    # Time

    async def settle(self, within: timedelta = SOON) -> None:
        """Let every process do what there is to do now, retries included."""
        await self.wait(within)

    async def wait(self, duration: timedelta) -> None:
        await self.clock.run(duration)
        for controller in self.controllers:
            controller.check()

    # Objects

    async def create(self, *made: Document) -> None:
        for document in made:
            await self.client.create(kind_of(document), document)

    async def get(self, kind: str, name: str, namespace: str = "default") -> Document:
        return await self.client.get(kind_named(kind), key_in(kind, name, namespace))

    async def find(self, kind: str, name: str, namespace: str = "default") -> Document | None:
        return await self.client.find(kind_named(kind), key_in(kind, name, namespace))

    async def all(self, kind: str, namespace: str = "", labels: str = "") -> list[Document]:
        """By name."""
        page = await self.client.list(
            kind_named(kind), Selection(namespace=namespace, labels=labels)
        )
        return sorted(page.items, key=key_of)

    async def names(self, kind: str, labels: str = "") -> list[str]:
        return [document["metadata"]["name"] for document in await self.all(kind, labels=labels)]

    async def patch(
        self, kind: str, name: str, patch: Document, *, subresource: str = "", **where: str
    ) -> Document:
        key = key_in(kind, name, where.get("namespace", "default"))
        options = WriteOptions(subresource=subresource)
        return await self.client.patch(kind_named(kind), key, merge_patch(patch), options)

    async def delete(
        self,
        kind: str,
        name: str,
        namespace: str = "default",
        *,
        grace: int | None = None,
        propagation: str = "",
    ) -> None:
        """What is owned follows by `propagation`; empty leaves that to the kind's default."""
        deletion = Deletion(grace_period_seconds=grace, propagation=propagation)
        await self.client.delete(kind_named(kind), key_in(kind, name, namespace), deletion)

    async def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and message of the events about objects of this name, as they were written."""
        found = [
            event for event in await self.all("Event") if event["involvedObject"]["name"] == name
        ]
        found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [(event["reason"], event["message"]) for event in found]

    # What nodes do

    async def add_node(self, name: str, **labels: str) -> None:
        """A node that is ready; underscores in label names stand for dots."""
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        metadata = {"name": name, "labels": {k.replace("_", "."): v for k, v in labels.items()}}
        await self.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await self.patch("Node", name, {"status": {"conditions": [ready]}}, subresource="status")

    async def bind(self, pod: str, node: str, namespace: str = "default") -> None:
        await self.client.bind(ObjectKey(namespace, pod), node)

    async def mark_running(
        self, *pods: str, ready: bool = True, namespace: str = "default"
    ) -> None:
        """A kubelet has started them, and their readiness probes say so."""
        now = wire_time(self.clock.now())
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": now,
        }
        status = {"phase": "Running", "startTime": now, "conditions": [condition]}
        for name in pods:
            await self._patch_status(name, namespace, status)

    async def mark_finished(
        self, *pods: str, phase: str = "Succeeded", namespace: str = "default"
    ) -> None:
        """Their containers have ended: Succeeded or Failed."""
        now = wire_time(self.clock.now())
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": now}
        for name in pods:
            status = {"phase": phase, "conditions": [condition]}
            await self._patch_status(name, namespace, status)

    async def _patch_status(self, name: str, namespace: str, status: Document) -> None:
        await self.patch("Pod", name, {"status": status}, subresource="status", namespace=namespace)

    async def end_pods(self) -> list[str]:
        """Kubelets stop every pod that is being deleted; who was it?"""
        ended = [p for p in await self.all("Pod") if "deletionTimestamp" in p["metadata"]]
        for pod in ended:
            metadata = pod["metadata"]
            try:
                await self.delete("Pod", metadata["name"], metadata["namespace"], grace=0)
            except KubeError as error:
                if error.failure is not Failure.NOT_FOUND:
                    raise
        return [pod["metadata"]["name"] for pod in ended]

    async def run_pods(self, *, rounds: int = 50) -> None:
        """Kubelets do their part until nothing changes any more: they start what is pending, stop
        what is being deleted."""
        for _ in range(rounds):
            await self.settle()
            started = [
                pod
                for pod in await self.all("Pod")
                if pod["status"].get("phase") == "Pending"
                and "deletionTimestamp" not in pod["metadata"]
            ]
            for pod in started:
                metadata = pod["metadata"]
                await self.mark_running(metadata["name"], namespace=metadata["namespace"])
            if not await self.end_pods() and not started:
                return
        raise BrokenExpectationError(f"pods still come and go after {rounds} rounds")


def _disabled_plugins(loops: tuple[str, ...]) -> frozenset[str]:
    """Nodes are only tainted where a loop finds them ready."""
    ended_here = {"TaintNodesByCondition"} if "node-lifecycle" in loops else set()
    return FINISHED_BY_CONTROLLERS - ended_here


@asynccontextmanager
async def a_cluster(
    *loops: str, more: Mapping[str, Make] | None = None
) -> AsyncIterator[StoryCluster]:
    """An empty cluster with one controller that runs these loops; none, none."""
    clock = StoryClock()
    server = make_server(
        MemoryStore(),
        clock,
        seeded_ids(0),
        limits_for(HISTORY),
        options=ServerOptions(disabled_plugins=_disabled_plugins(loops)),
    )
    async with running(server):
        cluster = StoryCluster(server, clock)
        try:
            if loops or more:
                await cluster.start(*loops, more=more)
            yield cluster
        finally:
            await cluster.kill_controllers()


def ready_names(pods: Iterable[Document]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods if _is_ready(pod)]


def _is_ready(pod: Document) -> bool:
    conditions: Sequence[Mapping[str, Any]] = pod["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
