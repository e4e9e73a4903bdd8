"""Dates and contents of conditions; what holds for requests on a server is in `test_approval`."""

from datetime import UTC, datetime

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.access.certificate_signing_request import (
    condition_errors,
    prepare_approval,
)

THEN = "2026-01-01T00:00:00Z"
NOW = datetime(2026, 2, 1, tzinfo=UTC)


def request(*conditions: Document) -> Document:
    return {"metadata": {"name": "a"}, "status": {"conditions": list(conditions)}}


def test_a_condition_that_is_written_again_keeps_the_time_of_its_transition() -> None:
    old = request({"type": "Approved", "status": "True", "lastTransitionTime": THEN})
    new = request({"type": "Approved", "status": "True"}, {"type": "Failed", "status": "True"})
    prepare_approval(new, old, NOW)
    times = [condition["lastTransitionTime"] for condition in new["status"]["conditions"]]
    assert times == [THEN, "2026-02-01T00:00:00Z"]


@pytest.mark.parametrize(
    ("condition", "field"),
    [
        pytest.param({"status": "True"}, "status.conditions[0].type", id="no-type"),
        pytest.param({"type": "Denied"}, "status.conditions[0].status", id="no-status"),
        pytest.param(
            {"type": "Failed", "status": "Unknown"}, "status.conditions[0].status", id="half-failed"
        ),
    ],
)
def test_a_condition_says_what_it_is_about(condition: Document, field: str) -> None:
    assert [error.field for error in condition_errors(request(condition), request())] == [field]


def test_conditions_of_other_types_may_be_false() -> None:
    assert not list(condition_errors(request({"type": "Mine", "status": "False"}), request()))
