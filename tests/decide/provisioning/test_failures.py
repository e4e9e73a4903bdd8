import pytest

from plimsoll.decide.provisioning.failures import Failure, Problem, RefusalError, State, refuse


def test_a_refusal_carries_what_the_user_will_read() -> None:
    with pytest.raises(RefusalError) as refusal:
        refuse(Problem.SELECTOR, "claim Selector is not supported")

    assert refusal.value.failure == Failure(
        problem=Problem.SELECTOR,
        message="claim Selector is not supported",
        state=State.FINISHED,
    )
