import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import pytest

from plimsoll.api.meta import ObjectReference
from plimsoll.api.registry import Document
from plimsoll.decide.plan import EventType
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.runtime.clock import NO_TIME, SteppedClock, settle
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
    def __init__(self, queue_limit: int = 1000, quiet: timedelta = NO_TIME) -> None:
        self.clock = SteppedClock()
        self.api = MemoryApi()
        self.metrics = Metrics()
        client = KubeClient(self.api, clock=self.clock, chance=Random(0))
        settings = RecorderSettings(
            component="plimsoll-test", instance="host-1", queue_limit=queue_limit, quiet=quiet
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


async def test_emitting_never_waits_and_what_does_not_fit_is_counted() -> None:
    bench = Bench(queue_limit=3)  # no writer runs
    for number in range(5):
        bench.recorder.emit(CLAIM, "Waiting", f"Number {number}.")
    assert b'plimsoll_events_lost_total{cause="queue_full"} 2.0' in bench.metrics.exposition()


async def test_events_that_are_lost_are_logged_in_one_line_a_minute(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[int]:
        return [vars(r)["count"] for r in caplog.records if r.message.startswith("events lost")]

    for _ in range(1100):
        bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await settle()
    first = sum(told())
    assert len(told()) == 1
    for _ in range(500):
        bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await bench.clock.run(timedelta(seconds=50))
    assert len(told()) == 1
    await bench.clock.run(timedelta(seconds=20))
    assert len(told()) == 2
    assert sum(told()) == 1100 + 500 - 25
    assert first > 0


async def test_the_same_sentence_is_not_said_again_while_it_is_fresh() -> None:
    bench = Bench(quiet=timedelta(minutes=5))
    running = asyncio.ensure_future(bench.recorder.run())
    for _ in range(10):
        bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
        await bench.clock.run(timedelta(seconds=15))
    bench.recorder.emit(CLAIM, "Waiting", "Nearly.")
    await bench.clock.run(timedelta(minutes=5))
    assert [(e["message"], e["count"]) for e in bench.events] == [("Not yet.", 1), ("Nearly.", 1)]
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await settle()
    assert bench.events[0]["count"] == 2
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_did_not_fit_counts_as_not_said() -> None:
    bench = Bench(queue_limit=1, quiet=timedelta(minutes=5))
    bench.recorder.emit(CLAIM, "Bound", "It has a volume.")
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    running = asyncio.ensure_future(bench.recorder.run())
    await settle()
    bench.recorder.emit(CLAIM, "Waiting", "Not yet.")
    await settle()
    assert [event["reason"] for event in bench.events] == ["Bound", "Waiting"]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


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
