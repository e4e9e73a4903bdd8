"""How far a claim has come."""

import msgspec
import pytest

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.quantity import MAX_INT64
from plimsoll.api.volumes import Resources
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.explain.claim_state import ClaimState, claim_progress
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import a_claim, a_class
from tests.decide.explain.faults import FAULTS
from tests.decide.scheduling.builders import a_cluster, annotated, bound

KEY = ObjectKey("default", "data")


@pytest.mark.parametrize(
    ("objects", "state"),
    [
        pytest.param((), ClaimState.NOT_FOUND, id="missing"),
        pytest.param(FAULTS[Reason.CLAIM_LOST]()[1], ClaimState.LOST, id="lost"),
        pytest.param(FAULTS[Reason.CLAIM_DELETING]()[1], ClaimState.DELETING, id="deleting"),
        pytest.param((bound(a_claim(), "volume-1"),), ClaimState.BOUND, id="bound"),
        pytest.param((a_class(), a_claim()), ClaimState.WAITS_FOR_NODE, id="late"),
        pytest.param((a_claim(),), ClaimState.WAITS_FOR_VOLUME, id="class-missing"),
        pytest.param(
            (a_class(), annotated(a_claim(), {SELECTED_NODE: "node-1"})),
            ClaimState.SELECTED,
            id="selected",
        ),
    ],
)
def test_a_claim_is_somewhere_on_its_way(objects: tuple[ApiObject, ...], state: ClaimState) -> None:
    assert claim_progress(KEY, a_cluster(*objects)).state is state


def test_what_a_claim_asks_for_is_told_with_it() -> None:
    progress = claim_progress(KEY, a_cluster(a_class(), a_claim(gib=3)))
    assert (progress.storage_class, progress.requested_bytes) == ("fast", 3 * 2**30)


def test_a_size_beyond_64_bits_is_not_told_as_a_negative_one() -> None:
    claim = a_claim()
    beyond = Resources(requests={"storage": str(2**63)})
    spec = msgspec.structs.replace(claim.spec, resources=beyond)
    asking = msgspec.structs.replace(claim, spec=spec)
    assert claim_progress(KEY, a_cluster(a_class(), asking)).requested_bytes == MAX_INT64
