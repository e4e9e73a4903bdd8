import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import pytest

from plimsoll.api.meta import ObjectReference
from plimsoll.api.registry import Document
from plimsoll.decide.plan import EventType
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Response
from tests.enact.memory_api import MemoryApi

CLAIM = ObjectReference(
    api_version="v1", kind="PersistentVolumeClaim", namespace="ns", name="data", uid="u1"
)


class Bench:
    def __init__(self, queue_limit: int = 1000) -> None:
        self.clock = SteppedClock()
        self.api = MemoryApi()
        self.metrics = Metrics()
        client = KubeClient(self.api, clock=self.clock, chance=Random(0))
        settings = RecorderSettings(
            component="plimsoll-test", instance="host-1", queue_limit=queue_limit
        )
        self.recorder = EventRecorder(client, settings, ids=seeded_ids(0), metrics=self.metrics)

    @property
    def events(self) -> list[Document]:
        return list(self.api.objects.values())

    def lost(self, cause: str) -> bool:
        line = f'plimsoll_events_lost_total{{cause="{cause}"}} 0.0'
        return line.encode() not in self.metrics.exposition()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    running = asyncio.ensure_future(bench.recorder.run())
    yield bench
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_an_event_says_who_what_why_and_when(bench: Bench) -> None:
    bench.recorder.emit(CLAIM, "CapacityTooSmall", "It needs 10Gi.", type_=EventType.WARNING)
    await settle()
    [event] = bench.events
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "ns",
        "name": "data",
        "uid": "u1",
    }
    assert event["metadata"]["namespace"] == "ns"
    assert event["metadata"]["name"].startswith("data.")
    assert (event["type"], event["reason"], event["message"]) == (
        "Warning",
        "CapacityTooSmall",
        "It needs 10Gi.",
    )
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2024-01-01T00:00:00Z"
    assert event["source"] == {"component": "plimsoll-test", "host": "host-1"}
    assert event["reportingComponent"] == "plimsoll-test"


async def test_events_about_the_cluster_are_kept_in_the_default_namespace(bench: Bench) -> None:
    bench.recorder.emit(ObjectReference(kind="Node", name="n1"), "Labelled", "Labels written.")
    await settle()
    assert next(iter(bench.api.objects)).startswith("/api/v1/namespaces/default/events/n1.")


async def test_repeats_are_counted_on_the_event_that_is_there(bench: Bench) -> None:
    for _ in range(3):
        bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
        await bench.clock.run(timedelta(seconds=10))
    [event] = bench.events
    assert event["count"] == 3
    assert event["firstTimestamp"] == "2024-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "2024-01-01T00:00:20Z"


async def test_an_event_that_expired_on_the_server_is_written_anew(bench: Bench) -> None:
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await settle()
    bench.api.objects.clear()
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await settle()
    [event] = bench.events
    assert event["count"] == 1


async def test_emitting_never_waits_and_what_does_not_fit_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(queue_limit=3)  # nobody writes
    for number in range(5):
        bench.recorder.emit(CLAIM, "Waiting", f"Number {number}.")
    assert b'plimsoll_events_lost_total{cause="queue_full"} 2.0' in bench.metrics.exposition()
    assert len([r for r in caplog.records if r.message == "event lost"]) == 2


async def test_a_server_that_is_away_for_a_while_gets_all_events_later(bench: Bench) -> None:
    bench.api.failing = [KubeError(Failure.UNAVAILABLE, "away")] * 5
    for number in range(3):
        bench.recorder.emit(CLAIM, "Waiting", f"Number {number}.")
    await bench.clock.run(timedelta(minutes=2))
    assert [e["message"] for e in bench.events] == ["Number 0.", "Number 1.", "Number 2."]


async def test_an_answer_that_got_lost_does_not_make_two_events(bench: Bench) -> None:
    bench.api.lost_answers = [KubeError(Failure.UNKNOWN_OUTCOME, "reset")]
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await bench.clock.run(timedelta(minutes=1))
    assert len(bench.events) == 1
    assert not bench.lost("refused")


async def test_what_the_server_refuses_is_counted_and_does_not_stop_the_rest(bench: Bench) -> None:
    bench.api.failing = [Response(status=403)]
    bench.recorder.emit(CLAIM, "Forbidden", "In a namespace that is going away.")
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await settle()
    assert [e["reason"] for e in bench.events] == ["Waiting"]
    assert bench.lost("refused")


async def test_a_flood_is_counted_as_lost(bench: Bench) -> None:
    for _ in range(60):
        bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await settle()
    assert bench.events[0]["count"] == 25
    assert bench.lost("too_many")


async def test_secrets_do_not_reach_the_users(bench: Bench) -> None:
    bench.recorder.emit(CLAIM, "Failed", "The driver said: Bearer s3cret-token-value")
    await settle()
    assert "s3cret" not in bench.events[0]["message"]


async def test_flushing_waits_for_what_is_queued_but_not_for_ever(bench: Bench) -> None:
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await bench.recorder.flush(timedelta(seconds=5))
    assert len(bench.events) == 1
    bench.api.failing = [KubeError(Failure.UNAVAILABLE, "away")] * 100
    bench.recorder.emit(CLAIM, "Waiting", "Still not.")
    flushing = asyncio.ensure_future(bench.recorder.flush(timedelta(seconds=5)))
    await bench.clock.run(timedelta(seconds=5))
    assert flushing.done()
