"""What was told is written, also where other writers change the pod at the same time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import make_server, running
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.processes.scheduler.events import PodRefusal, PodScheduledReason
from plimsoll.processes.scheduler.reporter import POD, Reporter
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import merge_patch

PODS = documents(resources_by_path()["", "v1", "pods"])
BINDINGS = documents(resources_by_path()["", "v1", "bindings"])
EVENTS = documents(resources_by_path()["", "v1", "events"])
KEY = ObjectKey("default", "web-0")


def a_document(**spec: object) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": KEY.namespace, "name": KEY.name},
        "spec": {"containers": [{"name": "main", "image": "web:1"}], **spec},
    }


def refusal(message: str, nominated: str | None = None) -> PodRefusal:
    return PodRefusal(PodScheduledReason.UNSCHEDULABLE, message, nominated)


@dataclass(slots=True)
class Bench:
    client: KubeClient
    reporter: Reporter

    async def create(self, **spec: object) -> Pod:
        await self.client.create(PODS, a_document(**spec))
        return await self.pod()

    async def pod(self) -> Pod:
        return await self.client.get(POD, KEY)

    async def label(self, value: str) -> None:
        patch = merge_patch({"metadata": {"labels": {"written-by": value}}})
        await self.client.patch(PODS, KEY, patch)

    async def messages(self) -> list[str]:
        return [each.message for each in (await self.pod()).status.conditions]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    clock = SteppedClock()
    server = make_server(MemoryStore(), clock, seeded_ids(1), HistoryLimits())
    async with running(server):
        client = KubeClient(InProcessTransport(server), clock=clock, chance=Random(1))
        told_by = RecorderSettings(component="the-process")
        recorder = EventRecorder(client, told_by, ids=seeded_ids(2), metrics=Metrics())
        reporter = Reporter(Enactor(client, recorder), client)
        tasks = [asyncio.ensure_future(run()) for run in (reporter.run, recorder.run)]
        yield Bench(client, reporter)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_condition_is_written_although_another_writer_was_first(bench: Bench) -> None:
    seen = await bench.create()
    await bench.label("another")

    bench.reporter.not_scheduled(seen, refusal("no room", "node-1"))
    await settle()

    pod = await bench.pod()
    assert await bench.messages() == ["no room"]
    assert pod.status.nominated_node_name == "node-1"
    assert pod.labels == {"written-by": "another"}


async def test_of_two_conditions_by_one_version_of_the_pod_the_newer_counts(bench: Bench) -> None:
    seen = await bench.create()

    bench.reporter.not_scheduled(seen, refusal("no room"))
    await asyncio.sleep(0)
    bench.reporter.not_scheduled(seen, refusal("still no room", "node-1"))
    await settle()

    assert await bench.messages() == ["still no room"]


async def test_a_pod_that_has_its_node_by_now_is_not_told_that_it_has_none(bench: Bench) -> None:
    seen = await bench.create()
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "target": target}
    metadata = {"namespace": KEY.namespace, "name": KEY.name}
    await bench.client.create(BINDINGS, {**binding, "metadata": metadata})

    bench.reporter.not_scheduled(seen, refusal("no room"))
    await settle()

    assert [each.status for each in (await bench.pod()).status.conditions] == ["True"]


async def test_events_carry_the_name_of_the_scheduler_that_the_pod_names(bench: Bench) -> None:
    bench.reporter.not_scheduled(await bench.create(schedulerName="the-pods"), refusal("no room"))
    await settle()

    [event] = (await bench.client.list(EVENTS)).items
    assert event["source"]["component"] == event["reportingComponent"] == "the-pods"
