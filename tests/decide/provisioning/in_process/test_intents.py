from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import ASSET_NAME, SELECTED_NODE
from plimsoll.decide.claims.operations import Provision
from plimsoll.decide.plan import Emit
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.in_process.intents import (
    IntentStep,
    after_failed_undo,
    after_suspicion,
    after_undone,
    asset_name,
    asset_name_of,
    decide_given_up,
    decide_intent,
    intent_for,
    is_asset_recorded,
    is_given_up,
    is_in_process,
    is_same_attempt,
)
from plimsoll.decide.provisioning.intents import Intent, IntentState
from tests.builders import a_claim, a_class, a_volume

NAME = "pvc-uid-default-data"
GONE = datetime(2024, 1, 1, tzinfo=UTC)


def the_claim(node: str = "node-a", volume: str = "", **metadata: Any) -> PersistentVolumeClaim:
    claim = a_claim(volume=volume)
    annotations = {SELECTED_NODE: node} if node else {}
    changed = msgspec.structs.replace(claim.metadata, **({"annotations": annotations} | metadata))
    return msgspec.structs.replace(claim, metadata=changed)


def an_operation(node: str = "node-a", class_uid: str = "class-1") -> Provision:
    class_ = a_class()
    metadata = msgspec.structs.replace(class_.metadata, uid=class_uid)
    return Provision(
        claim=the_claim(node),
        storage_class=msgspec.structs.replace(class_, metadata=metadata),
        provisioner="disks",
        volume_name=NAME,
    )


def an_intent(state: IntentState = IntentState.CALLING, number: int = 0) -> Intent:
    return msgspec.structs.replace(intent_for(an_operation(), number), state=state)


CLAIMS = {
    "waits": the_claim(),
    "gone": None,
    "made-anew": the_claim(uid="another"),
    "being-deleted": the_claim(deletion_timestamp=GONE),
    "bound-elsewhere": the_claim(volume="by-hand"),
    "on-another-node": the_claim("node-b"),
    "on-no-node": the_claim(""),
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_an_asset_is_wanted_by_its_claim_alone_while_it_waits_for_the_same_node(
    claim: PersistentVolumeClaim | None,
) -> None:
    wanted = IntentStep.GO_ON if claim is CLAIMS["waits"] else IntentStep.UNDO
    assert decide_intent(an_intent(), claim, is_recorded=False) is wanted


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_the_decision_to_undo_stands_whatever_becomes_of_the_claim(
    claim: PersistentVolumeClaim | None,
) -> None:
    begun = an_intent(IntentState.UNDOING)
    assert decide_intent(begun, claim, is_recorded=False) is IntentStep.UNDO


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize("state", [IntentState.CALLING, IntentState.UNDOING])
def test_what_is_recorded_is_never_undone(
    state: IntentState, claim: PersistentVolumeClaim | None
) -> None:
    assert decide_intent(an_intent(state), claim, is_recorded=True) is IntentStep.FORGET


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_what_was_made_for_a_claim_that_another_provisioner_serves_is_undone(
    claim: PersistentVolumeClaim | None,
) -> None:
    step = decide_intent(an_intent(), claim, is_recorded=False, is_served=True)
    assert step is IntentStep.UNDO


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_an_undone_asset_is_remembered_while_its_claim_may_ask_for_another(
    claim: PersistentVolumeClaim | None,
) -> None:
    is_over = claim in (None, CLAIMS["made-anew"], CLAIMS["bound-elsewhere"])
    step = IntentStep.FORGET if is_over else IntentStep.GO_ON
    assert decide_intent(an_intent(IntentState.UNDONE), claim, is_recorded=False) is step


def held(hold: str, node: str = "node-a") -> PersistentVolumeClaim:
    return the_claim(node, annotations={SELECTED_NODE: node, HOLD: hold})


@pytest.mark.parametrize(
    ("state", "hold", "step"),
    [
        pytest.param(IntentState.CALLING, "pod/0/make", IntentStep.GO_ON, id="is-made"),
        pytest.param(IntentState.MADE, "pod/0/make", IntentStep.WAIT, id="is-there"),
        pytest.param(IntentState.MADE, "", IntentStep.GO_ON, id="may-be-recorded"),
        pytest.param(IntentState.MADE, "pod/0/undo", IntentStep.UNDO, id="is-to-be-undone"),
        pytest.param(IntentState.CALLING, "pod/0/undo", IntentStep.UNDO, id="while-it-is-made"),
        pytest.param(IntentState.MADE, "pod/1/make", IntentStep.UNDO, id="of-an-earlier-attempt"),
        pytest.param(IntentState.REFUSED, "pod/0/make", IntentStep.WAIT, id="told"),
        pytest.param(IntentState.REFUSED, "pod/1/make", IntentStep.GO_ON, id="asked-again"),
        pytest.param(IntentState.UNDONE, "pod/0/undo", IntentStep.WAIT, id="undone"),
        pytest.param(IntentState.UNDONE, "pod/1/make", IntentStep.GO_ON, id="next-attempt"),
    ],
)
def test_what_a_hold_says_about_an_asset(state: IntentState, hold: str, step: IntentStep) -> None:
    intent = msgspec.structs.replace(an_intent(state), hold="pod/0")
    assert decide_intent(intent, held(hold), is_recorded=False) is step


@pytest.mark.parametrize(
    ("state", "hold", "step"),
    [
        pytest.param(IntentState.CALLING, "", IntentStep.UNDO, id="no-hold"),
        pytest.param(IntentState.CALLING, "pod/0/make", IntentStep.UNDO, id="it-is-told-then"),
        pytest.param(IntentState.MADE, "pod/0/make", IntentStep.WAIT, id="the-scheduler-decides"),
        pytest.param(IntentState.MADE, "", IntentStep.UNDO, id="released-too-late"),
    ],
)
def test_an_asset_of_a_node_that_is_gone_is_undone(
    state: IntentState, hold: str, step: IntentStep
) -> None:
    intent = msgspec.structs.replace(an_intent(state), hold="pod/0" if hold else "")
    gone = decide_intent(intent, held(hold), is_recorded=False, is_node_gone=True)
    assert gone is step


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_what_another_program_may_have_recorded_is_left_to_an_administrator(
    claim: PersistentVolumeClaim | None,
) -> None:
    begun = an_intent(IntentState.SUSPECT)
    assert decide_intent(begun, claim, is_recorded=False) is IntentStep.LEAVE


@pytest.mark.parametrize(
    ("operation", "is_same"),
    [
        pytest.param(an_operation(), True, id="again"),
        pytest.param(an_operation(node="node-b"), False, id="another-node"),
        pytest.param(an_operation(class_uid="class-2"), False, id="a-class-made-anew"),
    ],
)
def test_only_the_same_is_asked_for_under_the_same_name(
    operation: Provision, *, is_same: bool
) -> None:
    assert is_same_attempt(an_intent(), operation) is is_same
    assert not is_same_attempt(an_intent(IntentState.UNDOING), operation)


def test_each_asset_that_was_undone_leaves_its_name_to_itself() -> None:
    names = [asset_name(an_intent(number=number)) for number in range(3)]
    assert names == [NAME, f"{NAME}-1", f"{NAME}-2"]


def a_recorded_volume(told: str) -> PersistentVolume:
    volume = a_volume(NAME)
    metadata = msgspec.structs.replace(volume.metadata, annotations={ASSET_NAME: told})
    return msgspec.structs.replace(volume, metadata=metadata)


@pytest.mark.parametrize(
    ("told", "name"),
    [
        pytest.param(f"{NAME}-2", f"{NAME}-2", id="a-later-asset"),
        pytest.param("", NAME, id="the-first"),
        pytest.param("pvc-of-another-claim", NAME, id="of-another-claim"),
        pytest.param(f"{NAME}-../x", NAME, id="no-number"),
        pytest.param(f"{NAME}-\u0663", NAME, id="no-digit-of-ours"),
    ],
)
def test_a_volume_is_deleted_by_the_name_of_its_own_asset(told: str, name: str) -> None:
    assert asset_name_of(a_recorded_volume(told)) == name


@pytest.mark.parametrize(
    ("volume", "is_recorded"),
    [
        pytest.param({"metadata": {"name": NAME}, "spec": {}}, True, id="by-its-name"),
        pytest.param(
            {"metadata": {"name": "by-hand"}, "spec": {"hostPath": {"path": f"/v/{NAME}"}}},
            True,
            id="by-hand",
        ),
        pytest.param(
            {"metadata": {"name": "other"}, "spec": {"hostPath": {"path": "/v/pvc-other"}}},
            False,
            id="of-another-claim",
        ),
        pytest.param(
            {
                "metadata": {
                    "name": NAME,
                    "annotations": {"pv.kubernetes.io/provisioned-by": "other"},
                },
                "spec": {"csi": {"driver": "other", "volumeHandle": "1"}},
            },
            False,
            id="by-its-name-of-another-provisioner",
        ),
        pytest.param(
            {"metadata": {"name": "other"}, "spec": {"claimRef": {"name": NAME}}},
            False,
            id="a-claim-of-that-name",
        ),
    ],
)
def test_an_asset_is_recorded_by_every_volume_that_leads_to_it(
    volume: dict[str, Any], *, is_recorded: bool
) -> None:
    assert is_asset_recorded(an_intent(), [volume]) is is_recorded


GIVEN_UP = msgspec.structs.replace(an_intent(IntentState.UNDOING), given_up=True)


def recorded(asset: str, path: str, name: str = NAME) -> dict[str, Any]:
    marked = {"annotations": {ASSET_NAME: asset}} if asset else {}
    return {"metadata": {"name": name} | marked, "spec": {"hostPath": {"path": path}}}


@pytest.mark.parametrize(
    ("number", "volume", "is_recorded"),
    [
        pytest.param(0, recorded(f"{NAME}-1", f"/v/{NAME}-1"), False, id="by-the-next-attempt"),
        pytest.param(1, recorded(f"{NAME}-10", f"/v/{NAME}-10"), False, id="by-the-tenth"),
        pytest.param(1, recorded(f"{NAME}-2", "opaque"), False, id="by-the-next-somewhere"),
        pytest.param(0, recorded(f"{NAME}-1", f"/v/{NAME}"), True, id="marked-otherwise"),
        pytest.param(1, recorded(f"{NAME}-1", "opaque"), True, id="by-itself"),
        pytest.param(0, recorded("", "opaque"), True, id="without-a-mark"),
        pytest.param(1, recorded("", "opaque"), True, id="without-a-mark-although-numbered"),
        pytest.param(0, recorded("nonsense", "opaque"), True, id="with-a-forged-mark"),
        pytest.param(0, recorded("", f"/v/{NAME}", "by-hand"), True, id="by-hand"),
        pytest.param(0, recorded(f"{NAME}-1", f"/{NAME}", "by-hand"), True, id="by-hand-marked"),
    ],
)
def test_an_asset_that_was_given_up_is_not_recorded_by_the_volume_of_a_later_attempt(
    number: int, volume: dict[str, Any], *, is_recorded: bool
) -> None:
    intent = msgspec.structs.replace(GIVEN_UP, number=number)
    assert is_asset_recorded(intent, [volume]) is is_recorded


def test_an_asset_that_was_not_given_up_is_recorded_by_any_volume_of_its_claim() -> None:
    volume = recorded(f"{NAME}-1", "opaque")
    assert is_asset_recorded(an_intent(IntentState.UNDOING), [volume])


@pytest.mark.parametrize(
    ("state", "is_recorded", "step"),
    [
        (IntentState.UNDOING, False, IntentStep.UNDO),
        (IntentState.CALLING, False, IntentStep.UNDO),
        (IntentState.UNDOING, True, IntentStep.FORGET),
        (IntentState.UNDONE, False, IntentStep.FORGET),
        (IntentState.SUSPECT, False, IntentStep.LEAVE),
        (IntentState.SUSPECT, True, IntentStep.LEAVE),
    ],
)
def test_what_was_given_up_is_deleted_whatever_becomes_of_its_claim(
    state: IntentState, step: IntentStep, *, is_recorded: bool
) -> None:
    intent = msgspec.structs.replace(GIVEN_UP, state=state)
    assert decide_given_up(intent, is_recorded=is_recorded) is step


def test_only_a_mark_tells_that_an_asset_was_given_up() -> None:
    """A driver's intent without the id of a volume tells it as well; here there are no ids."""
    assert is_given_up(GIVEN_UP)
    assert not is_given_up(an_intent(IntentState.UNDOING))
    assert is_given_up(an_intent(IntentState.SUSPECT))
    assert not is_given_up(msgspec.structs.replace(GIVEN_UP, state=IntentState.UNDONE))


def test_intents_tell_whether_a_provisioner_inside_a_controller_was_asked() -> None:
    assert is_in_process(an_intent())
    assert not is_in_process(msgspec.structs.replace(an_intent(), request={"name": NAME}))


def test_a_claim_is_told_that_its_volume_is_made_anew_for_another_node() -> None:
    [event] = after_undone(an_intent(), the_claim("node-b")).writes
    assert isinstance(event, Emit)
    assert event.reason == "SelectedNodeChanged"
    assert event.message.endswith("it is created again for node node-b")
    for claim in ("gone", "made-anew", "being-deleted", "bound-elsewhere", "waits"):
        assert after_undone(an_intent(), CLAIMS[claim]).writes == ()


def test_an_administrator_is_told_what_is_left_and_what_ends_it() -> None:
    begun = an_intent(number=1)
    for plan in (after_failed_undo(begun, "the store is away"), after_suspicion(begun)):
        [event] = plan.writes
        assert isinstance(event, Emit)
        assert event.reason == "ProvisioningCleanupFailed"
        for part in (f"{NAME}-1", "disks", begun.name):
            assert part in event.message
