"""What is stored of a rollback comes back, and what another hand stored does no harm."""

from random import Random

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.records import RECORD
from plimsoll.decide.rollback.records import (
    CONTENT,
    RollbackState,
    UnusedProof,
    fits,
    read_rollback,
    rollback_lease,
)
from tests.decide.rollback.unused import a_record


def stored(text: str, name: str = "plimsoll-rollback-u") -> Document:
    return {"metadata": {"name": name, "annotations": {CONTENT: text}}}


def test_a_record_comes_back_as_it_was() -> None:
    record = a_record(
        state=RollbackState.RELEASING,
        proof=UnusedProof.WATCHED,
        watch="w",
        secret={"namespace": "n", "name": "s"},
    )
    lease = rollback_lease(record, "kube-system", {})
    assert lease["metadata"]["labels"] == {RECORD: "rollback"}
    assert lease["metadata"]["name"] == f"plimsoll-rollback-{record.volume_uid}"
    read = read_rollback(lease)
    assert read == record
    assert read is not None
    assert (read.claim_key, read.pod_key) == (
        ObjectKey("default", "data"),
        ObjectKey("default", "web-0"),
    )
    assert read.secret_reference is not None


def test_a_claim_with_huge_annotations_is_too_large_to_be_kept() -> None:
    record = a_record()
    noise = {"noise": Random(0).randbytes(200 * 1024).hex()}
    claim = {**record.claim, "metadata": {**record.claim["metadata"], "annotations": noise}}
    assert fits(record)
    assert not fits(msgspec.structs.replace(record, claim=claim))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"claim": {}}, id="no claim"),
        pytest.param({"claim": {"metadata": {"name": 7}, "spec": {}}}, id="a claim of numbers"),
        pytest.param({"claim": {"metadata": {"name": "a", "namespace": "b"}}}, id="no spec"),
        pytest.param({"secret": {"name": "s"}}, id="half a secret"),
    ],
)
def test_a_record_of_another_hand_is_none(changed: Document) -> None:
    record = a_record()
    lease = rollback_lease(msgspec.structs.replace(record, **changed), "kube-system", {})
    assert read_rollback(lease) is None


def test_a_record_under_the_name_of_another_volume_is_none() -> None:
    lease = rollback_lease(a_record(), "kube-system", {})
    lease["metadata"]["name"] = "plimsoll-rollback-another"
    assert read_rollback(lease) is None
    assert read_rollback(stored("{}")) is None
    assert read_rollback(stored("")) is None
