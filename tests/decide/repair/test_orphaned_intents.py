from typing import Any

import msgspec
import pytest

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.plan import Emit, Patch
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, IntentState, recorded_claim
from plimsoll.decide.repair.orphaned_intents import decide_orphan, is_orphaned
from tests.builders import a_claim


def the_claim(volume: str = "", **annotations: str) -> PersistentVolumeClaim:
    claim = a_claim(volume=volume)
    metadata = msgspec.structs.replace(
        claim.metadata, annotations={SELECTED_NODE: "node-a", **annotations}, resource_version="7"
    )
    return msgspec.structs.replace(claim, metadata=metadata)


def an_intent(**fields: Any) -> Intent:
    claim = recorded_claim(the_claim())
    whole = {"driver": "disks", "claim": claim, "volume_name": "pvc-1", "node": "node-a", **fields}
    return Intent(**whole)


@pytest.mark.parametrize(
    ("intent", "is_one"),
    [
        pytest.param(an_intent(), True, id="its-node-is-gone"),
        pytest.param(an_intent(node="node-b"), False, id="its-node-is-there"),
        pytest.param(an_intent(node=""), False, id="of-a-provisioner-for-all-nodes"),
        pytest.param(an_intent(state=IntentState.UNDONE), False, id="nothing-is-left"),
    ],
)
def test_an_intent_is_orphaned_when_its_provisioner_went_with_its_node(
    intent: Intent, *, is_one: bool
) -> None:
    assert is_orphaned(intent, {"node-b"}) is is_one


def test_the_claim_is_told_and_the_scheduler_may_choose_another_node() -> None:
    release, event = decide_orphan(an_intent(), the_claim(), "storage").writes
    assert isinstance(release, Patch)
    assert release.patch == {"metadata": {"annotations": {SELECTED_NODE: None}}}
    assert release.version == "7"
    assert isinstance(event, Emit)
    for part in ("node-a", "disks", "pvc-1", f"storage/{an_intent().name}"):
        assert part in event.message


def another_uid() -> PersistentVolumeClaim:
    claim = the_claim()
    return msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, uid="another")
    )


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(None, id="gone"),
        pytest.param(another_uid(), id="made-anew"),
        pytest.param(the_claim(**{SELECTED_NODE: "node-b"}), id="on-another-node"),
        pytest.param(the_claim(volume="by-hand"), id="bound"),
        pytest.param(the_claim(**{HOLD: "pod/1/make"}), id="held-by-the-scheduler"),
    ],
)
def test_a_claim_that_does_not_wait_for_that_node_is_left_as_it_is(
    claim: PersistentVolumeClaim | None,
) -> None:
    (event,) = decide_orphan(an_intent(), claim, "storage").writes
    assert isinstance(event, Emit)
    assert "taken off" not in event.message
