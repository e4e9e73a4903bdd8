from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from plimsoll.api.meta import Condition
from plimsoll.decide.csi.steps import (
    Failure,
    NotAsked,
    a_condition,
    code_number,
    is_final,
    is_infeasible,
    merged_conditions,
    size_text,
    told,
)
from plimsoll.decide.provisioning.calls import CallFailed, Code
from tests.builders import a_claim

NOW = datetime(2030, 1, 1, tzinfo=UTC)
EARLIER = datetime(2029, 1, 1, tzinfo=UTC)
ABOUT = frozenset({"A", "B"})


@pytest.mark.parametrize(
    ("failure", "allows"),
    [
        pytest.param(CallFailed(Code.DEADLINE_EXCEEDED), set(), id="no-answer"),
        pytest.param(CallFailed(Code.ABORTED), set(), id="another-call-runs"),
        pytest.param(CallFailed(Code.RESOURCE_EXHAUSTED), set(), id="short-of-something"),
        pytest.param(CallFailed(Code.INTERNAL), {is_final}, id="gave-up"),
        pytest.param(CallFailed(Code.OUT_OF_RANGE), {is_final, is_infeasible}, id="no-such-size"),
        pytest.param(NotAsked("no secret"), set(), id="not-asked"),
    ],
)
def test_what_a_failure_allows_next(
    failure: Failure, allows: set[Callable[[Failure], bool]]
) -> None:
    assert {check for check in (is_final, is_infeasible) if check(failure)} == allows


def test_codes_are_counted_as_grpc_does() -> None:
    assert code_number(CallFailed(Code.CANCELLED)) == 1
    assert code_number(CallFailed(Code.RESOURCE_EXHAUSTED)) == 8
    assert code_number(CallFailed(Code.UNAUTHENTICATED)) == 16
    assert code_number(NotAsked("no secret")) is None


def test_conditions_about_something_else_stay() -> None:
    other, a = Condition(type="X", status="True"), Condition(type="A", status="True")
    b = a_condition("B", NOW, "new")
    assert merged_conditions((a, other), (b,), about=ABOUT, keep=False) == (other, b)
    assert merged_conditions((a, other), (b,), about=ABOUT, keep=True) == (a, other, b)


def test_a_condition_that_says_the_same_keeps_its_time() -> None:
    old = a_condition("A", EARLIER, "same")
    assert merged_conditions((old,), (a_condition("A", NOW, "same"),), about=ABOUT, keep=True) == (
        old,
    )
    new = a_condition("A", NOW, "other")
    assert merged_conditions((old,), (new,), about=ABOUT, keep=True) == (new,)


def test_sizes_are_written_with_binary_suffixes() -> None:
    assert [size_text(n) for n in (2 * 1024**3, 1_500_000_001)] == ["2Gi", "1500000001"]


def test_an_event_names_the_kind_of_its_object() -> None:
    event = told(a_claim(), "Resizing", "a sentence")
    assert (event.regarding["kind"], event.regarding["apiVersion"]) == (
        "PersistentVolumeClaim",
        "v1",
    )
