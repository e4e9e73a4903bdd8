from plimsoll.decide.scheduling.queue.hints import Hint, QueueingHint, always, answer, never
from tests.builders import a_pod


def test_a_rule_without_a_test_is_not_concerned() -> None:
    assert answer(None, a_pod()) == QueueingHint(Hint.NOT_CONCERNED)


def test_a_pod_is_woken_if_the_test_says_so() -> None:
    assert answer(always, a_pod()).hint is Hint.WAKE
    assert answer(never, a_pod()).hint is Hint.LET_WAIT


def test_a_rule_that_cannot_tell_wakes_the_pod_and_says_why() -> None:
    def confused(*_objects: object) -> bool:
        raise ValueError("no such operator")

    assert answer(confused, a_pod()) == QueueingHint(Hint.WAKE, "no such operator")
