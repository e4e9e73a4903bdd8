from plimsoll.decide.claims.operations import Decision
from plimsoll.decide.plan import NOTHING


def test_a_decision_about_nothing_does_nothing() -> None:
    decision = Decision()
    assert decision.plan == NOTHING
    assert decision.operation is None
    assert not decision.complaint
