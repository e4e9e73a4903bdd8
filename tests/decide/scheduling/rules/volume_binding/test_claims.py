from datetime import UTC, datetime

import msgspec
import pytest

from plimsoll.api.volumes import BETA_CLASS_ANNOTATION, ClaimStatus
from plimsoll.decide.annotations import BIND_COMPLETED
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Reason, Verdict
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims, are_all_bound, prepare
from tests.builders import a_claim, a_class, a_pod
from tests.decide.scheduling.builders import (
    a_cluster,
    a_pod_with_ephemeral_volume,
    annotated,
    bound,
    owned_by,
)


def rejected(prepared: PodClaims | Judgement) -> tuple[Reason, str]:
    assert isinstance(prepared, Judgement)
    assert prepared.verdict is Verdict.UNRESOLVABLE
    return prepared.findings[0].reason, prepared.sentences[0]


def test_claims_are_told_apart_by_what_is_left_to_decide() -> None:
    delayed, done = a_claim("late"), bound(a_claim("done"), "volume-1")
    pod = a_pod(claims=["done", "late"])
    assert prepare(pod, a_cluster(delayed, done, a_class())) == PodClaims((done,), (delayed,))


def test_a_pod_without_claims_goes_anywhere() -> None:
    assert prepare(a_pod(), a_cluster()) is NOT_CONCERNED


def test_a_claim_that_names_its_volume_is_left_to_the_controller() -> None:
    prepared = prepare(a_pod(claims=["data"]), a_cluster(a_claim(volume="mine"), a_class()))
    assert rejected(prepared) == (
        Reason.UNBOUND_IMMEDIATE_CLAIM,
        "pod has unbound immediate PersistentVolumeClaims",
    )


@pytest.mark.parametrize("class_name", [None, "", "unknown"])
def test_without_a_class_binding_does_not_wait_for_the_pod(class_name: str | None) -> None:
    cluster = a_cluster(a_claim(class_name=class_name), a_class())
    assert rejected(prepare(a_pod(claims=["data"]), cluster))[0] is Reason.UNBOUND_IMMEDIATE_CLAIM


def test_the_older_annotation_goes_before_the_class_in_the_spec() -> None:
    claim = annotated(a_claim(class_name="immediate"), {BETA_CLASS_ANNOTATION: "late"})
    classes = (a_class("late"), a_class("immediate", binding_mode="Immediate"))
    prepared = prepare(a_pod(claims=["data"]), a_cluster(claim, *classes))
    assert prepared == PodClaims((), (claim,))


def test_a_class_must_say_when_it_binds() -> None:
    vague = msgspec.structs.replace(a_class("vague"), volume_binding_mode=None)
    prepared = prepare(a_pod(claims=["data"]), a_cluster(a_claim(class_name="vague"), vague))
    assert isinstance(prepared, Judgement)
    assert prepared.verdict is Verdict.ERROR
    assert prepared.sentences == ('VolumeBindingMode not set for StorageClass "vague"',)


def test_a_missing_claim_is_named() -> None:
    assert rejected(prepare(a_pod(claims=["data"]), a_cluster())) == (
        Reason.CLAIM_NOT_FOUND,
        'persistentvolumeclaim "data" not found',
    )


def test_a_lost_claim_is_lost_even_while_it_is_deleted() -> None:
    claim = bound(a_claim(), "gone")
    metadata = msgspec.structs.replace(
        claim.metadata, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)
    )
    deleting = msgspec.structs.replace(claim, metadata=metadata)
    lost = msgspec.structs.replace(deleting, status=ClaimStatus(phase="Lost"))
    pod = a_pod(claims=["data"])
    assert rejected(prepare(pod, a_cluster(deleting)))[0] is Reason.CLAIM_DELETING
    assert rejected(prepare(pod, a_cluster(lost))) == (
        Reason.CLAIM_LOST,
        'persistentvolumeclaim "data" bound to non-existent persistentvolume "gone"',
    )


def test_a_claim_that_is_being_rolled_back_takes_no_pod() -> None:
    claim = annotated(bound(a_claim(), "volume-1"), {"plimsoll.dev/rolling-back": "x"})
    assert rejected(prepare(a_pod(claims=["data"]), a_cluster(claim))) == (
        Reason.CLAIM_DELETING,
        'persistentvolumeclaim "data" is being rolled back',
    )


def test_an_ephemeral_volume_waits_for_its_claim_and_takes_no_other() -> None:
    pod = a_pod_with_ephemeral_volume()
    claim = a_claim("web-0-scratch")
    assert rejected(prepare(pod, a_cluster()))[1].startswith("waiting for ephemeral volume")
    assert rejected(prepare(pod, a_cluster(claim, a_class()))) == (
        Reason.CLAIM_NOT_OWNED,
        "PVC default/web-0-scratch was not created for pod default/web-0 (pod is not owner)",
    )
    ours = owned_by(claim, pod)
    assert prepare(pod, a_cluster(ours, a_class())) == PodClaims((), (ours,))


def test_a_claim_counts_as_bound_only_when_the_binding_is_complete() -> None:
    pod = a_pod(claims=["data"])
    named = a_claim(volume="volume-1")
    assert not are_all_bound(pod, a_cluster().claim)
    assert not are_all_bound(pod, a_cluster(named).claim)
    assert are_all_bound(pod, a_cluster(annotated(named, {BIND_COMPLETED: ""})).claim)
