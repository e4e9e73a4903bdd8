"""When the selected node is taken off a claim."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import Patch
from plimsoll.decide.repair.selected_node import decide_selected_node
from tests.builders import a_claim, a_volume

SELECTED = {"volume.kubernetes.io/selected-node": "node-1"}
BOUND = SELECTED | {"pv.kubernetes.io/bind-completed": "yes"}


def claim_with(
    annotations: Mapping[str, str], *, volume: str = "", **metadata: Any
) -> PersistentVolumeClaim:
    claim = a_claim(volume=volume)
    changed = msgspec.structs.replace(
        claim.metadata, annotations=annotations, resource_version="3", **metadata
    )
    return msgspec.structs.replace(claim, metadata=changed)


def test_only_the_annotation_goes_and_only_from_the_claim_that_was_seen() -> None:
    repair = decide_selected_node(claim_with(SELECTED), [], node_is_gone=True)
    assert repair is not None
    (patch,) = repair.writes
    assert isinstance(patch, Patch)
    assert patch.patch == {
        "metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}
    }
    assert patch.version == "3"
    assert repair.found == "The selected node node-1 is gone"


@pytest.mark.parametrize(
    ("claim", "volumes", "is_gone"),
    [
        pytest.param(claim_with(SELECTED), [], False, id="the-node-is-there"),
        pytest.param(claim_with({}), [], True, id="nothing-selected"),
        pytest.param(claim_with(SELECTED, volume="volume-1"), [], True, id="has-a-volume"),
        pytest.param(claim_with(BOUND), [], True, id="was-bound-once"),
        pytest.param(
            claim_with(SELECTED, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)),
            [],
            True,
            id="being-deleted",
        ),
        pytest.param(
            claim_with(SELECTED), [a_volume(claim=a_claim())], True, id="a-volume-is-kept-for-it"
        ),
    ],
)
def test_when_the_claim_is_left_alone(
    claim: PersistentVolumeClaim, volumes: list[PersistentVolume], *, is_gone: bool
) -> None:
    assert decide_selected_node(claim, volumes, node_is_gone=is_gone) is None


@given(
    annotations=st.dictionaries(st.sampled_from(sorted(BOUND)), st.just("x")),
    volume=st.sampled_from(["", "volume-1"]),
    is_gone=st.booleans(),
)
def test_a_claim_that_has_or_had_a_volume_is_never_touched(
    annotations: dict[str, str], volume: str, *, is_gone: bool
) -> None:
    claim = claim_with(annotations, volume=volume)
    repair = decide_selected_node(claim, [], node_is_gone=is_gone)
    if repair is not None:
        assert is_gone
        assert not volume
        assert set(annotations) == set(SELECTED)


def test_while_a_hold_is_there_the_scheduler_takes_both_off() -> None:
    held = SELECTED | {"plimsoll.dev/hold": "pod/0/make"}
    assert decide_selected_node(claim_with(held), [], node_is_gone=True) is None
