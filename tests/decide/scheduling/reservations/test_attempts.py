"""Which of the attempts for a claim makes the volume that the claim is to get."""

import msgspec
import pytest

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import CONTENT, Intent, IntentState, recorded_claim
from plimsoll.decide.scheduling.reservations.attempts import OpenAttempt, find_attempt, find_current
from tests.builders import DRIVER, a_claim


def claimed(node: str = "n", hold: str = "", uid: str = "uid") -> PersistentVolumeClaim:
    told = {SELECTED_NODE: node} | ({HOLD: hold} if hold else {})
    claim = a_claim("data")
    metadata = msgspec.structs.replace(claim.metadata, uid=uid, annotations=told)
    return msgspec.structs.replace(claim, metadata=metadata)


def lease_of(intent: Intent) -> Lease:
    content = msgspec.json.encode(intent).decode()
    return Lease(metadata=ObjectMeta(name=intent.name, annotations={CONTENT: content}))


def begun(
    claim: PersistentVolumeClaim,
    state: IntentState = IntentState.CALLING,
    *,
    number: int = 0,
    hold: str = "",
) -> OpenAttempt:
    intent = Intent(
        driver=DRIVER,
        claim=recorded_claim(claim),
        volume_name=f"pvc-{claim.uid}",
        number=number,
        state=state,
        selected_node=claim.annotations[SELECTED_NODE],
        hold=hold,
    )
    found = find_attempt(lease_of(intent))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("attempt", "claim", "is_current"),
    [
        pytest.param(begun(claimed()), claimed(), True, id="same-node"),
        pytest.param(begun(claimed()), claimed("m"), False, id="another-node"),
        pytest.param(begun(claimed()), claimed(uid="new"), False, id="another-claim-of-the-name"),
        pytest.param(
            begun(claimed(), IntentState.UNDOING), claimed(), False, id="it-is-being-undone"
        ),
        pytest.param(begun(claimed(), IntentState.STUCK), claimed(), True, id="its-name-is-taken"),
        pytest.param(
            begun(claimed(hold="pod/0/make")), claimed(hold="pod/0/make"), True, id="same-hold"
        ),
        pytest.param(
            begun(claimed(hold="pod/0/make")), claimed(hold="pod/1/make"), False, id="next-hold"
        ),
        pytest.param(
            begun(claimed(), IntentState.MADE, hold="pod/0"),
            claimed(hold="pod/1/make"),
            False,
            id="made-for-an-earlier-hold",
        ),
        pytest.param(begun(claimed()), claimed(hold="pod/0/make"), True, id="held-meanwhile"),
        pytest.param(
            begun(claimed(hold="pod/0/make"), IntentState.UNDOING),
            claimed(hold="pod/0/undo"),
            True,
            id="given-back-and-nothing-else-is-begun",
        ),
        pytest.param(begun(claimed()), None, True, id="no-node-is-selected"),
        pytest.param(
            begun(claimed(), IntentState.UNDOING), None, False, id="undone-without-a-node"
        ),
    ],
)
def test_an_attempt_is_current_if_the_claim_is_to_get_its_volume(
    attempt: OpenAttempt, claim: PersistentVolumeClaim | None, *, is_current: bool
) -> None:
    assert find_current([attempt], claim) == (attempt if is_current else None)


def test_of_two_that_will_do_the_newest_is_current() -> None:
    first, second = begun(claimed()), begun(claimed(), number=1)
    assert find_current([second, first], claimed()) == second


@pytest.mark.parametrize("state", [IntentState.UNDONE, IntentState.REFUSED])
def test_what_is_settled_is_no_attempt(state: IntentState) -> None:
    intent = Intent(
        driver=DRIVER, claim=recorded_claim(claimed()), volume_name="pvc-uid", state=state
    )
    assert find_attempt(lease_of(intent)) is None
    assert find_attempt(Lease(metadata=ObjectMeta(name="another"))) is None
