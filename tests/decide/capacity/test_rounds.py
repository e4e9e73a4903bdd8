"""Who waits, who is asked, and when everything was looked at."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.reports import CapacityAnswer
from plimsoll.decide.capacity.rounds import Rounds

NOW = datetime(2024, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
A, B = Pair((), "a"), Pair((), "b")


def test_a_pair_waits_once_however_often_it_is_asked_for() -> None:
    rounds = Rounds()
    for pair in (A, B, A, A):
        rounds.ask(pair)
    assert rounds.waiting == 2
    assert [rounds.take(), rounds.take(), rounds.take()] == [A, B, None]


def test_what_is_asked_for_during_a_call_is_asked_once_more_after_it() -> None:
    rounds = Rounds()
    rounds.ask(A)
    rounds.take()
    rounds.ask(A)
    rounds.ask(A)
    assert rounds.take() is None
    assert rounds.waiting == 1
    rounds.finish(A, NOW)
    assert [rounds.take(), rounds.take()] == [A, None]


def test_everything_was_looked_at_when_the_round_is_over() -> None:
    rounds = Rounds()
    rounds.begin([A, B], NOW)
    for pair in (A, B):
        assert rounds.looked_at is None
        assert rounds.take() == pair
        rounds.finish(pair, LATER)
    assert rounds.looked_at == LATER


def test_nothing_to_look_at_is_looked_at_at_once() -> None:
    rounds = Rounds()
    rounds.begin([], NOW)
    assert rounds.looked_at == NOW


def test_a_round_that_takes_longer_than_a_poll_comes_to_its_end() -> None:
    rounds = Rounds()
    rounds.begin([A, B], NOW)
    for pair in (A, B):
        rounds.take()
        rounds.begin([A, B], NOW)
        rounds.finish(pair, LATER)
    assert rounds.looked_at == LATER
    assert rounds.waiting == 2


def test_a_pair_that_is_dropped_holds_no_round_up() -> None:
    rounds = Rounds()
    rounds.begin([A, B], NOW)
    rounds.take()
    rounds.drop(B)
    rounds.finish(A, LATER)
    assert rounds.looked_at == LATER
    assert rounds.take() is None


def test_the_oldest_report_is_that_of_the_pair_without_an_answer() -> None:
    rounds = Rounds()
    rounds.answered(A, CapacityAnswer(1), NOW)
    rounds.answered(B, CapacityAnswer(1), LATER)
    rounds.unanswered(A)
    assert (rounds.oldest_report_at, rounds.unanswered_count) == (NOW, 1)
    rounds.answered(A, CapacityAnswer(2), LATER)
    assert (rounds.oldest_report_at, rounds.unanswered_count) == (LATER, 0)
    assert rounds.report_of(A) == CapacityAnswer(2)


@given(st.lists(st.sampled_from(["ask", "take", "finish", "poll"]), max_size=60), st.data())
def test_a_pair_is_asked_by_one_at_a_time(steps: list[str], data: st.DataObject) -> None:
    pairs = [Pair((), str(number)) for number in range(4)]
    rounds, busy = Rounds(), set[Pair]()
    for step in steps:
        match step:
            case "ask":
                rounds.ask(data.draw(st.sampled_from(pairs)))
            case "poll":
                rounds.begin(pairs, NOW)
            case "take":
                pair = rounds.take()
                assert pair is None or pair not in busy
                busy |= {pair} if pair else set()
            case _ if busy:
                pair = data.draw(st.sampled_from(sorted(busy)))
                busy.discard(pair)
                rounds.finish(pair, NOW)
            case _:
                pass
        assert rounds.waiting <= len(pairs)
