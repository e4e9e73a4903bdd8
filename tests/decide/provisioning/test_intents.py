"""What an intent keeps, and what is done about one whose claim does not want its volume."""

import base64
import zlib

import pytest

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.calls import CallFailed, Code, CreatedVolume
from plimsoll.decide.provisioning.intents import (
    CONTENT,
    Intent,
    IntentState,
    StoredIntent,
    after_repeated,
    bounded,
    lease_document,
    read_intent,
    recorded_claim,
    requested_name,
)
from plimsoll.decide.provisioning.steps import CleanUp, Ignore, Refuse, StartOver
from plimsoll.decide.records import MOST_BYTES

CLAIM = from_document(
    PersistentVolumeClaim,
    {
        "metadata": {
            "namespace": "default",
            "name": "data",
            "uid": "1",
            "resourceVersion": "7",
            "annotations": {"volume.kubernetes.io/selected-node": "node-a"},
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    },
)


def an_intent(segments: int = 1) -> Intent:
    topology = [{"segments": {"host": f"node-{number:06}"}} for number in range(segments)]
    return Intent(
        driver="pools.test",
        claim=recorded_claim(CLAIM),
        volume_name="pvc-1",
        selected_node="node-a",
        request={"name": "pvc-1", "accessibilityRequirements": {"requisite": topology}},
        secret={"namespace": "default", "name": "access"},
    )


def test_a_lease_gives_back_the_intent_that_it_was_made_for() -> None:
    lease = lease_document(StoredIntent(intent=an_intent()), "storage")
    assert lease["metadata"]["name"] == "plimsoll-intent-1-0"
    assert lease["metadata"]["labels"] == {"plimsoll.dev/record": "intent"}
    read = read_intent(lease)
    assert read == an_intent()
    assert read.recorded_claim.spec == CLAIM.spec
    assert read.recorded_claim.annotations == CLAIM.annotations


def test_a_request_for_thousands_of_nodes_fits_into_an_annotation() -> None:
    wide = an_intent(segments=10_000)
    lease = lease_document(StoredIntent(intent=wide), "storage")
    assert len(lease["metadata"]["annotations"][CONTENT]) < MOST_BYTES
    assert read_intent(lease) == bounded(wide) == wide


HEAD = '{"driver": "d", "volumeName": "v", "claim": '
METADATA = '{"metadata": {"namespace": "n", "name": "c", "uid": "1"}}'
BOMB = base64.b64encode(zlib.compress(bytes(64 * 1024 * 1024), 9)).decode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{", id="half-of-it"),
        pytest.param("{}", id="empty"),
        pytest.param("bm90IHBhY2tlZA==", id="not-packed"),
        pytest.param("no base64", id="no-base64"),
        pytest.param(BOMB, id="sixty-four-mebibytes-of-zeros"),
        pytest.param(HEAD + "{}}", id="a-claim-without-a-name"),
        pytest.param(HEAD + '{"metadata": 3}}', id="a-claim-of-another-shape"),
        pytest.param(HEAD + '{"metadata": {"namespace": "n", "name": "c"}}}', id="no-uid"),
        pytest.param(HEAD + METADATA + ', "secret": {"name": "s"}}', id="half-a-secret"),
        pytest.param(HEAD + "[" * 100_000, id="too-deep"),
    ],
)
def test_what_is_no_intent_is_not_taken_for_one(text: str) -> None:
    assert read_intent({"metadata": {"annotations": {CONTENT: text}}}) is None


def test_provisioners_of_nodes_have_leases_of_their_own() -> None:
    one, other = (
        Intent(driver="d", claim=recorded_claim(CLAIM), volume_name="v", node=node)
        for node in ("node-a", "node-b")
    )
    assert one.name != other.name


def test_a_volume_that_was_undone_is_followed_by_one_of_another_name() -> None:
    assert [requested_name("pvc-1", number) for number in range(3)] == [
        "pvc-1",
        "pvc-1-1",
        "pvc-1-2",
    ]


@pytest.mark.parametrize(
    ("metadata", "spec", "expected"),
    [
        pytest.param({"uid": "1"}, {}, True, id="waits"),
        pytest.param({"uid": "1"}, {"volumeName": "pvc-1"}, True, id="names-it"),
        pytest.param({"uid": "1"}, {"volumeName": "other"}, False, id="took-another"),
        pytest.param({"uid": "2"}, {}, False, id="made-anew"),
    ],
)
def test_whether_the_claim_still_wants_the_volume(
    metadata: dict[str, str], spec: dict[str, str], *, expected: bool
) -> None:
    claim = from_document(PersistentVolumeClaim, {"metadata": metadata, "spec": spec})
    assert an_intent().is_wanted_by(claim) is expected
    assert not an_intent().is_wanted_by(None)


def test_after_the_call_was_repeated_for_nothing() -> None:
    undo = after_repeated(an_intent(), CreatedVolume(volume_id="id-1"), None)
    assert isinstance(undo, CleanUp)
    assert undo.call.volume_id == "id-1"
    assert undo.call.secret is not None
    assert undo.call.secret.name == "access"
    nothing = after_repeated(an_intent(), CallFailed(Code.RESOURCE_EXHAUSTED, "full"), None)
    assert isinstance(nothing, Ignore)
    anew = after_repeated(an_intent(), CallFailed(Code.RESOURCE_EXHAUSTED, "full"), CLAIM)
    assert isinstance(anew, StartOver), "the claim waits for another volume"
    for code in (Code.UNAVAILABLE, Code.INTERNAL, Code.ALREADY_EXISTS):
        unknown = after_repeated(an_intent(), CallFailed(code, "what now"), None)
        assert isinstance(unknown, Refuse), "there may be a volume"
        assert unknown.memory.in_progress is not None


def test_a_claim_that_wants_another_volume_is_decided_on_again() -> None:
    claim = an_intent().recorded_claim
    undo = after_repeated(an_intent(), CreatedVolume(volume_id="id-1"), claim)
    assert isinstance(undo, CleanUp)
    assert undo.wanted_by == claim
    nothing = after_repeated(an_intent(), CallFailed(Code.RESOURCE_EXHAUSTED, "full"), claim)
    assert isinstance(nothing, StartOver)


def test_only_what_is_refused_or_undone_is_over() -> None:
    over = [state for state in IntentState if not state.is_open]
    assert over == [IntentState.REFUSED, IntentState.UNDONE]
