from collections import Counter
from datetime import UTC, datetime

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.cluster.lease import RULES
from tests.apiserver.model.kinds.complaints import complaints

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds"),
        ({"leaseDurationSeconds": -5}, "spec.leaseDurationSeconds"),
        ({"leaseTransitions": -1}, "spec.leaseTransitions"),
    ],
)
def test_numbers_of_a_lease_make_sense(spec: Document, field: str) -> None:
    lease: Document = {"metadata": {}, "spec": spec}

    assert complaints(RULES.validate(lease)) == Counter([("Invalid", field)])
    assert complaints(RULES.validate_update(lease, {})) == Counter([("Invalid", field)])


def test_a_lease_may_say_nothing() -> None:
    lease: Document = {"metadata": {}}

    RULES.default(lease)

    assert lease["spec"] == {}
    assert complaints(RULES.validate(lease)) == Counter()


def test_coordinated_election_is_not_offered() -> None:
    lease: Document = {"metadata": {}, "spec": {"strategy": "bad strategy", "preferredHolder": "x"}}

    RULES.prepare_create(lease, NOW)

    assert lease["spec"] == {}


def test_leases_are_created_by_put_and_never_changed_blindly() -> None:
    assert RULES.create_on_update
    assert not RULES.unconditional_update
