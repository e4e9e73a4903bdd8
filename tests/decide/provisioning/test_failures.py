import pytest

from plimsoll.decide.provisioning.failures import (
    Problem,
    ProvisioningFailure,
    ProvisioningState,
    RefusalError,
    refuse,
)


def test_a_refusal_carries_what_the_user_will_read() -> None:
    with pytest.raises(RefusalError) as refusal:
        refuse(Problem.SELECTOR, "claim Selector is not supported")

    assert refusal.value.failure == ProvisioningFailure(
        problem=Problem.SELECTOR,
        message="claim Selector is not supported",
        state=ProvisioningState.FINISHED,
    )
