"""How processes keep records in leases."""

import base64
import zlib

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.records import (
    LARGE_BYTES,
    MOST_UNPACKED_BYTES,
    RECORD,
    RecordLease,
    find_record,
    pack,
)

CONTENT = "example.com/note"

NEW = RecordLease(
    namespace="storage",
    name="plimsoll-group-1",
    record="group",
    annotation="plimsoll.dev/group",
    text="{}",
    holder="node-a",
)


def test_a_record_is_found_by_its_label() -> None:
    document = NEW.document
    assert document["metadata"]["labels"] == {RECORD: "group"}
    assert document["metadata"]["annotations"] == {"plimsoll.dev/group": "{}"}
    assert "resourceVersion" not in document["metadata"]


def test_what_others_wrote_on_the_lease_is_kept() -> None:
    stored = NEW.document
    stored["metadata"] |= {"resourceVersion": "7", "labels": {"team": "storage"}}
    stored["spec"]["leaseTransitions"] = 3
    changed = RecordLease(
        namespace="storage",
        name="plimsoll-group-1",
        record="group",
        annotation="plimsoll.dev/group",
        text='{"state":"Undoing"}',
        holder="node-b",
        stored=stored,
    ).document
    assert changed["metadata"]["resourceVersion"] == "7"
    assert changed["metadata"]["labels"] == {"team": "storage", RECORD: "group"}
    assert changed["metadata"]["annotations"] == {"plimsoll.dev/group": '{"state":"Undoing"}'}
    assert changed["spec"] == {"leaseTransitions": 3, "holderIdentity": "node-b"}


class Note(msgspec.Struct, frozen=True):
    text: str = ""


def read(text: str) -> Note | None:
    return find_record({CONTENT: text}, CONTENT, Note)


@given(text=st.text(max_size=200))
def test_a_record_comes_back_as_it_was(text: str) -> None:
    assert read(pack(Note(text))) == Note(text)


def test_a_large_record_is_kept_compressed() -> None:
    note = Note("far and wide " * LARGE_BYTES)
    packed = pack(note)
    assert len(packed) < LARGE_BYTES
    assert read(packed) == note


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{", id="cut short"),
        pytest.param('{"text": 7}', id="another type"),
        pytest.param("????", id="no base64"),
        pytest.param(base64.b64encode(b"plain").decode(), id="not compressed"),
        pytest.param("[" * 100_000, id="deeper than any record"),
        pytest.param(
            base64.b64encode(zlib.compress(b" " * (MOST_UNPACKED_BYTES + 1))).decode(),
            id="a flood",
        ),
    ],
)
def test_a_record_of_another_hand_is_none(text: str) -> None:
    assert read(text) is None
