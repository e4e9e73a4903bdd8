from typing import Any

import pytest

from plimsoll.apiserver.model.kinds.pods.scheduling.tolerations import (
    removed_toleration_errors,
    toleration_errors,
)
from tests.apiserver.model.kinds.pods.objects import causes

BRIEF = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}


@pytest.mark.parametrize(
    ("toleration", "refused"),
    [
        pytest.param({"key": "a", "operator": "Like"}, ("NotSupported", "operator"), id="like"),
        pytest.param({"key": "a", "operator": "Gt"}, ("NotSupported", "operator"), id="greater"),
        pytest.param(
            {"key": "a", "operator": "Exists", "value": "b"}, ("Invalid", "operator"), id="value"
        ),
        pytest.param({"operator": "Equal", "value": "b"}, ("Invalid", "operator"), id="no-key"),
        pytest.param(BRIEF | {"effect": "NoSchedule"}, ("Invalid", "effect"), id="seconds"),
        pytest.param(
            {"key": "a", "operator": "Exists", "effect": "No"}, ("NotSupported", "effect"), id="no"
        ),
    ],
)
def test_a_toleration_with_one_fault_is_refused_for_it_alone(
    toleration: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    assert causes(toleration_errors([toleration], "t")) == {(reason, f"t[0].{field}"): 1}


def test_everything_can_be_tolerated() -> None:
    assert not causes(toleration_errors([{"operator": "Exists"}, BRIEF], "t"))


def test_a_toleration_may_last_longer_but_not_go_away() -> None:
    longer = BRIEF | {"tolerationSeconds": 50}

    assert not causes(removed_toleration_errors([longer, {"operator": "Exists"}], [BRIEF], "t"))
    assert causes(removed_toleration_errors([], [BRIEF], "t")) == {("Forbidden", "t"): 1}
