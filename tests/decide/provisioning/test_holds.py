"""What a hold on a claim says about a volume that was made for it."""

import pytest

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.holds import (
    HOLD,
    Hold,
    HoldAction,
    held_back_by,
    hold_of,
    is_to_be_undone,
    undone_message,
)


def claim(hold: str | None) -> PersistentVolumeClaim:
    annotations = {} if hold is None else {HOLD: hold}
    metadata = {"namespace": "default", "name": "data", "uid": "1", "annotations": annotations}
    return from_document(PersistentVolumeClaim, {"metadata": metadata})


def test_what_is_written_is_read() -> None:
    hold = Hold("pod-1", 3, HoldAction.UNDO)
    assert hold_of(claim(str(hold))) == hold
    assert hold.id == "pod-1/3"


@pytest.mark.parametrize(
    "text",
    [None, "", "pod", "pod/1", "pod/x/make", "pod/-1/make", "/1/make", "pod/1/burn", "a/²/make"],
)
def test_what_is_no_hold_holds_nothing(text: str | None) -> None:
    assert hold_of(claim(text)) is None
    assert not is_to_be_undone("pod/1", claim(text))
    assert held_back_by("pod/1", claim(text)) == ""


@pytest.mark.parametrize(
    ("made_for", "hold", "is_undone", "held"),
    [
        ("pod/1", "pod/1/make", False, "pod/1"),
        ("pod/1", "pod/1/undo", True, ""),
        ("pod/1", "pod/2/make", True, ""),
        ("pod/1", "other/1/make", True, ""),
        ("", "pod/1/make", False, "pod/1"),
        ("", "pod/1/undo", True, ""),
    ],
)
def test_a_volume_is_kept_for_the_hold_that_it_was_made_for(
    made_for: str, hold: str, *, is_undone: bool, held: str
) -> None:
    assert is_to_be_undone(made_for, claim(hold)) is is_undone
    assert held_back_by(made_for, claim(hold)) == held


@pytest.mark.parametrize(
    ("hold", "is_node_gone", "said"),
    [
        pytest.param(None, False, "another node was selected while it was created", id="moved"),
        pytest.param(
            "pod/0/undo", False, "does not get all of its volumes on this node", id="held"
        ),
        pytest.param(None, True, "is gone; another node is selected next", id="the-node-is-gone"),
    ],
)
def test_the_owner_of_a_claim_is_told_why_its_volume_was_deleted(
    hold: str | None, said: str, *, is_node_gone: bool
) -> None:
    assert said in undone_message("pvc-1", claim(hold), is_node_gone=is_node_gone)
