"""What a user has to mend first stands first."""

import pytest

from plimsoll.decide.explain.causes import CONSEQUENCES, ORDER, causes_first
from plimsoll.decide.explain.groups import Area, SharedTrouble
from plimsoll.decide.scheduling.reasons import Reason


def trouble(reason: Reason) -> SharedTrouble:
    return SharedTrouble(rule=Area.PROVISIONING, reason=reason, sentence=reason.value)


@pytest.mark.parametrize(
    ("cause", "consequence"),
    [
        (Reason.CLASS_NOT_FOUND, Reason.UNBOUND_IMMEDIATE_CLAIM),
        (Reason.CLAIM_LOST, Reason.VOLUME_NOT_FOUND),
        (Reason.DATA_SOURCE_NOT_FOUND, Reason.PROVISIONING_FAILED),
        (Reason.NODE_GONE, Reason.SELECTED_ELSEWHERE),
        (Reason.NODE_GONE, Reason.PROVISIONING_FAILED),
        (Reason.PROVISIONER_STOPPED, Reason.CAPACITY_STALE),
        (Reason.PROVISIONER_REFUSED, Reason.UNBOUND_IMMEDIATE_CLAIM),
        (Reason.CAPACITY_STALE, Reason.CAPACITY_TOO_SMALL),
        (Reason.CAPACITY_TOO_SMALL, Reason.SELECTED_ELSEWHERE),
    ],
)
def test_a_cause_comes_before_what_follows_from_it(cause: Reason, consequence: Reason) -> None:
    found = causes_first([trouble(consequence), trouble(cause)])
    assert [each.reason for each in found] == [cause, consequence]


def test_findings_of_one_rank_keep_their_order() -> None:
    found = [trouble(Reason.CAPACITY_TOO_SMALL), trouble(Reason.UNTOLERATED_TAINT)]
    assert [*causes_first(found)] == found


def test_no_reason_has_two_places() -> None:
    placed = [*(reason for tier in ORDER for reason in tier), *CONSEQUENCES]
    assert len(placed) == len(set(placed))
