from datetime import UTC, datetime, timedelta

import pytest

from plimsoll.runtime.leading.epoch import LeaderEpoch

MADE = datetime(2030, 1, 31, 12, tzinfo=UTC)
LATER = MADE + timedelta(seconds=1)


def epoch(transitions: int, made: datetime = MADE, lease: str = "storage/driver") -> LeaderEpoch:
    return LeaderEpoch(lease=lease, lease_created_at=made, transitions=transitions)


@pytest.mark.parametrize(
    ("one", "other", "is_before"),
    [
        pytest.param(epoch(1), epoch(2), True, id="the-lease-passed-on"),
        pytest.param(epoch(2), epoch(2), False, id="the-same-leader"),
        pytest.param(epoch(2), epoch(1), False, id="an-earlier-leader"),
        pytest.param(epoch(7), epoch(0, LATER), True, id="the-lease-was-made-anew"),
        pytest.param(epoch(0, LATER), epoch(7), False, id="a-leader-of-the-old-lease"),
        pytest.param(epoch(1), epoch(2, lease="storage/other"), False, id="another-lease"),
    ],
)
def test_the_order_of_leaders_is_that_of_their_leases_and_then_of_its_holders(
    one: LeaderEpoch, other: LeaderEpoch, *, is_before: bool
) -> None:
    assert one.is_before(other) is is_before
