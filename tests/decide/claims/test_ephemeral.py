"""Which claims a pod with ephemeral volumes gets, and which it must not take."""

from datetime import UTC, datetime

import msgspec
from hypothesis import given, strategies as st

from plimsoll.api.meta import ObjectKey, ObjectMeta, OwnerReference
from plimsoll.api.pods import ClaimTemplate, EphemeralVolume, Pod, PodVolume
from plimsoll.api.volumes import ClaimSpec, PersistentVolumeClaim, Resources
from plimsoll.decide.claims.ephemeral import (
    NOT_OURS_RECHECK,
    EphemeralReason,
    creation_failed,
    decide_ephemeral_claims,
)
from plimsoll.decide.plan import NOTHING, Create, Emit, EventType
from tests.builders import a_claim, a_pod

SPEC = ClaimSpec(
    access_modes=("ReadWriteOnce",),
    resources=Resources(requests={"storage": "1Gi"}),
    storage_class_name="",
)
TEMPLATE = ClaimTemplate(
    metadata=ObjectMeta(labels={"app": "web"}, annotations={"a": "b"}), spec=SPEC
)


def pod_with(*volumes: str) -> Pod:
    made = tuple(
        PodVolume(name=name, ephemeral=EphemeralVolume(volume_claim_template=TEMPLATE))
        for name in volumes
    )
    pod = a_pod(claims=["kept"])
    spec = msgspec.structs.replace(pod.spec, volumes=(*pod.spec.volumes, *made))
    return msgspec.structs.replace(pod, spec=spec)


def owned(name: str, pod: Pod) -> PersistentVolumeClaim:
    owner = OwnerReference(
        api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True
    )
    claim = a_claim(name)
    metadata = msgspec.structs.replace(claim.metadata, owner_references=(owner,))
    return msgspec.structs.replace(claim, metadata=metadata)


def test_a_claim_has_what_its_template_says_and_belongs_to_the_pod() -> None:
    plan = decide_ephemeral_claims(pod_with("scratch"), {})
    assert plan.reason == EphemeralReason.CLAIM_MISSING
    (create,) = plan.writes
    assert isinstance(create, Create)
    assert create.document == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "namespace": "default",
            "name": "web-0-scratch",
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": "web-0",
                    "uid": "uid-default-web-0",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "labels": {"app": "web"},
            "annotations": {"a": "b"},
        },
        "spec": {
            "accessModes": ("ReadWriteOnce",),
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
        },
    }


def test_a_claim_of_another_owner_is_reported_and_left_alone() -> None:
    pod = pod_with("scratch")
    claim = a_claim("web-0-scratch")
    plan = decide_ephemeral_claims(pod, {claim.key: claim})
    (event,) = plan.writes
    assert isinstance(event, Emit)
    assert (event.type, event.reason) == (EventType.WARNING, "FailedBinding")
    assert event.message == (
        "ephemeral volume scratch: PVC default/web-0-scratch was not created for pod "
        "default/web-0 (pod is not owner)"
    )
    assert plan.recheck_after == NOT_OURS_RECHECK


def test_a_claim_left_by_a_namesake_of_the_pod_is_not_taken() -> None:
    pod = pod_with("scratch")
    earlier = msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, uid="earlier")
    )
    claim = owned("web-0-scratch", earlier)
    assert (
        decide_ephemeral_claims(pod, {claim.key: claim}).reason == EphemeralReason.CLAIM_NOT_OWNED
    )


def test_a_pod_on_its_way_out_gets_nothing() -> None:
    pod = pod_with("scratch")
    metadata = msgspec.structs.replace(
        pod.metadata, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)
    )
    assert decide_ephemeral_claims(msgspec.structs.replace(pod, metadata=metadata), {}) is NOTHING


def test_a_failed_creation_names_the_volume_the_claim_and_the_error() -> None:
    pod = pod_with("scratch")
    (write,) = decide_ephemeral_claims(pod, {}).writes
    event = creation_failed(pod, write, "exceeded quota")
    assert event is not None
    assert event.message == "ephemeral volume scratch: create PVC web-0-scratch: exceeded quota"


NAMES = ["a", "b", "c"]


@given(
    volumes=st.permutations(NAMES),
    ours=st.sets(st.sampled_from(NAMES)),
    theirs=st.sets(st.sampled_from(NAMES)),
)
def test_exactly_the_missing_claims_before_the_first_conflict_are_made(
    volumes: list[str], ours: set[str], theirs: set[str]
) -> None:
    pod = pod_with(*volumes)
    claims: dict[ObjectKey, PersistentVolumeClaim] = {}
    for name in theirs:
        claims[ObjectKey("default", f"web-0-{name}")] = a_claim(f"web-0-{name}")
    for name in ours - theirs:
        claims[ObjectKey("default", f"web-0-{name}")] = owned(f"web-0-{name}", pod)
    plan = decide_ephemeral_claims(pod, claims)
    first_conflict = next((i for i, name in enumerate(volumes) if name in theirs), len(volumes))
    expected = [f"web-0-{name}" for name in volumes[:first_conflict] if name not in ours]
    assert [w.key.name for w in plan.writes if isinstance(w, Create)] == expected
    assert any(isinstance(w, Emit) for w in plan.writes) == bool(theirs)
