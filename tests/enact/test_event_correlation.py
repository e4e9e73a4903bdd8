from datetime import timedelta

import pytest

from plimsoll.api.meta import ObjectReference
from plimsoll.decide.plan import EventType
from plimsoll.enact.event_correlation import (
    COMBINED,
    CorrelationSettings,
    Correlator,
    Flood,
    Fresh,
    Notice,
    Repeat,
    Verdict,
)
from plimsoll.runtime.clock import EPOCH


def about(name: str = "data", version: str = "1") -> ObjectReference:
    return ObjectReference(
        kind="PersistentVolumeClaim", namespace="ns", name=name, resource_version=version
    )


def a_notice(
    message: str = "No room.", seconds: float = 0, regarding: ObjectReference | None = None
) -> Notice:
    return Notice(
        regarding=regarding or about(),
        type=EventType.WARNING,
        reason="CapacityTooSmall",
        message=message,
        at=EPOCH + timedelta(seconds=seconds),
    )


class Bench:
    """Judges notices and remembers them as written, as the recorder does."""

    def __init__(self, settings: CorrelationSettings | None = None) -> None:
        self.correlator = Correlator(settings or CorrelationSettings())
        self.written = 0

    def judge(self, notice: Notice) -> Verdict:
        verdict = self.correlator.judge(notice)
        if isinstance(verdict, Fresh):
            self.written += 1
            self.correlator.remember(verdict, f"event-{self.written}")
        elif isinstance(verdict, Repeat):
            self.correlator.remember(verdict, verdict.name)
        return verdict


def test_the_same_again_raises_the_count_of_the_first() -> None:
    bench = Bench()
    assert isinstance(bench.judge(a_notice()), Fresh)
    for count in (2, 3, 4):
        verdict = bench.judge(a_notice(seconds=count))
        assert isinstance(verdict, Repeat)
        assert (verdict.name, verdict.count) == ("event-1", count)


def test_an_object_stays_the_same_while_its_version_changes() -> None:
    bench = Bench()
    bench.judge(a_notice(regarding=about(version="1")))
    assert isinstance(bench.judge(a_notice(regarding=about(version="2"))), Repeat)


@pytest.mark.parametrize(
    "other",
    [
        a_notice("Still no room."),
        a_notice(regarding=about("other")),
        a_notice(seconds=3600),
    ],
    ids=["another-text", "another-object", "much-later"],
)
def test_something_else_is_an_event_of_its_own(other: Notice) -> None:
    bench = Bench()
    bench.judge(a_notice())
    assert isinstance(bench.judge(other), Fresh)


def test_many_similar_events_become_one() -> None:
    bench = Bench()
    verdicts = [bench.judge(a_notice(f"Node {n} is full.", seconds=n)) for n in range(20)]
    assert [type(v) for v in verdicts] == [Fresh] * 11 + [Repeat] * 9
    last = verdicts[-1]
    assert isinstance(last, Repeat)
    assert last.notice.message == f"{COMBINED}Node 19 is full."
    assert last.count == 10


def test_a_flood_about_one_object_is_cut_short_and_spares_the_others() -> None:
    bench = Bench()
    verdicts = [bench.judge(a_notice()) for _ in range(40)]
    assert sum(isinstance(v, Flood) for v in verdicts) == 15
    assert not isinstance(bench.judge(a_notice(regarding=about("other"))), Flood)
    assert not isinstance(bench.judge(a_notice(seconds=300)), Flood), "one more every five minutes"
    assert isinstance(bench.judge(a_notice(seconds=301)), Flood)


def test_an_event_that_the_server_forgot_is_written_anew() -> None:
    bench = Bench()
    verdict = bench.judge(a_notice())
    assert isinstance(verdict, Fresh)
    bench.correlator.forget(verdict)
    assert isinstance(bench.judge(a_notice(seconds=1)), Fresh)


def test_long_texts_are_cut_to_what_the_server_takes() -> None:
    verdict = Bench().judge(a_notice("x" * 5000))
    assert isinstance(verdict, Fresh)
    assert len(verdict.notice.message) == 1024


def test_memory_is_bounded() -> None:
    bench = Bench(CorrelationSettings(memory=10))
    for number in range(100):
        bench.judge(a_notice(regarding=about(str(number))))
    assert isinstance(bench.judge(a_notice(regarding=about("99"))), Repeat)
    assert isinstance(bench.judge(a_notice(regarding=about("0"))), Fresh)
