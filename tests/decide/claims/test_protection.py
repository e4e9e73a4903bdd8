"""Who keeps a claim or volume from being deleted, and when the finalizer goes."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.meta import ObjectMeta, OwnerReference
from plimsoll.api.pods import EphemeralVolume, Pod, PodStatus, PodVolume
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim, VolumeStatus
from plimsoll.decide.claims.protection import (
    ProtectionReason,
    decide_claim_protection,
    decide_volume_protection,
    holds,
)
from plimsoll.decide.plan import NOTHING, Patch
from plimsoll.decide.resources import CLAIMS, VOLUMES
from tests.builders import a_claim, a_pod, a_volume

AT = datetime(2024, 1, 1, tzinfo=UTC)
CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
FINALIZERS = (CLAIM_FINALIZER, "example.com/other")


def deleted_claim(
    name: str = "data", finalizers: tuple[str, ...] = FINALIZERS
) -> PersistentVolumeClaim:
    claim = a_claim(name)
    metadata = msgspec.structs.replace(
        claim.metadata, deletion_timestamp=AT, finalizers=finalizers, resource_version="7"
    )
    return msgspec.structs.replace(claim, metadata=metadata)


def owned_by(claim: PersistentVolumeClaim, pod: Pod) -> PersistentVolumeClaim:
    owner = OwnerReference(
        api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True
    )
    metadata = msgspec.structs.replace(claim.metadata, owner_references=(owner,))
    return msgspec.structs.replace(claim, metadata=metadata)


def with_ephemeral(pod: Pod) -> Pod:
    """Its claim is called `web-0-scratch`."""
    volume = PodVolume(name="scratch", ephemeral=EphemeralVolume())
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, volumes=(volume,)))


def being_deleted(pod: Pod, grace: int) -> Pod:
    metadata = msgspec.structs.replace(
        pod.metadata, deletion_timestamp=AT, deletion_grace_period_seconds=grace
    )
    return msgspec.structs.replace(pod, metadata=metadata)


def test_a_claim_without_the_finalizer_gets_it_after_those_it_has() -> None:
    claim = a_claim()
    metadata = ObjectMeta(
        name="data", namespace="default", uid="u", resource_version="3", finalizers=("x",)
    )
    plan = decide_claim_protection(msgspec.structs.replace(claim, metadata=metadata), ())
    assert plan.reason == ProtectionReason.PROTECTED
    assert plan.writes == (
        Patch(
            resource=CLAIMS,
            key=claim.key,
            patch={"metadata": {"finalizers": ["x", CLAIM_FINALIZER]}},
            version="3",
            uid="u",
        ),
    )


def test_a_deleted_claim_that_no_pod_uses_loses_only_this_finalizer() -> None:
    plan = decide_claim_protection(deleted_claim(), ())
    assert plan.reason == ProtectionReason.RELEASED
    assert [write.patch for write in plan.writes if isinstance(write, Patch)] == [
        {"metadata": {"finalizers": ["example.com/other"]}}
    ]


def test_a_deleted_claim_never_gets_the_finalizer_back() -> None:
    assert decide_claim_protection(deleted_claim(finalizers=("x",)), ()) is NOTHING


FINISHED = msgspec.structs.replace(
    a_pod(claims=["data"], node="node-1"), status=PodStatus(phase="Succeeded")
)
SCRATCH = with_ephemeral(a_pod(node="node-1"))


@pytest.mark.parametrize(
    ("pod", "claim", "is_held"),
    [
        pytest.param(a_pod(claims=["data"], node="node-1"), deleted_claim(), True, id="on-a-node"),
        pytest.param(a_pod(claims=["data"]), deleted_claim(), False, id="not-scheduled"),
        pytest.param(FINISHED, deleted_claim(), True, id="finished-but-still-there"),
        pytest.param(
            being_deleted(a_pod(claims=["data"], node="node-1"), 0),
            deleted_claim(),
            True,
            id="shut-down-but-still-there",
        ),
        pytest.param(
            a_pod(claims=["data"], node="node-1", namespace="other"),
            deleted_claim(),
            False,
            id="namesake-of-another-namespace",
        ),
        pytest.param(a_pod(claims=["b"], node="node-1"), deleted_claim(), False, id="other-claim"),
        pytest.param(
            SCRATCH, owned_by(deleted_claim("web-0-scratch"), SCRATCH), True, id="own-ephemeral"
        ),
        pytest.param(SCRATCH, deleted_claim("web-0-scratch"), False, id="ephemeral-not-owned"),
        pytest.param(
            being_deleted(SCRATCH, 0),
            owned_by(deleted_claim("web-0-scratch"), SCRATCH),
            False,
            id="ephemeral-of-a-pod-shut-down",
        ),
        pytest.param(
            being_deleted(SCRATCH, 30),
            owned_by(deleted_claim("web-0-scratch"), SCRATCH),
            True,
            id="ephemeral-of-a-pod-shutting-down",
        ),
    ],
)
def test_a_claim_is_kept_by_pods_that_use_it(
    pod: Pod, claim: PersistentVolumeClaim, *, is_held: bool
) -> None:
    plan = decide_claim_protection(claim, [pod])
    assert (plan.reason == ProtectionReason.IN_USE) == is_held
    assert bool(plan.writes) != is_held


@given(
    pods=st.lists(
        st.builds(
            lambda n, claims, node: a_pod(f"web-{n}", claims=sorted(claims), node=node),
            st.integers(0, 5),
            st.sets(st.sampled_from(["data", "logs"])),
            st.sampled_from(["", "node-1"]),
        ),
        max_size=6,
    )
)
def test_the_finalizer_goes_exactly_when_no_pod_holds_the_claim(pods: list[Pod]) -> None:
    claim = deleted_claim()
    used = any(pod.spec.node_name and claim.key in pod.claims for pod in pods)
    assert any(holds(pod, claim) for pod in pods) == used
    assert bool(decide_claim_protection(claim, pods).writes) == (not used)


def volume(
    phase: str, *, deleted: bool, finalizers: tuple[str, ...] = (VOLUME_FINALIZER,)
) -> PersistentVolume:
    made = a_volume()
    metadata = msgspec.structs.replace(
        made.metadata, deletion_timestamp=AT if deleted else None, finalizers=finalizers
    )
    return msgspec.structs.replace(made, metadata=metadata, status=VolumeStatus(phase=phase))


@pytest.mark.parametrize("phase", ["Available", "Released", "Failed", "Pending", ""])
def test_a_deleted_volume_that_is_not_bound_loses_the_finalizer(phase: str) -> None:
    plan = decide_volume_protection(volume(phase, deleted=True))
    assert plan.reason == ProtectionReason.RELEASED
    assert [(w.resource, w.patch) for w in plan.writes if isinstance(w, Patch)] == [
        (VOLUMES, {"metadata": {"finalizers": []}})
    ]


def test_a_bound_volume_keeps_the_finalizer() -> None:
    plan = decide_volume_protection(volume("Bound", deleted=True))
    assert (plan.reason, plan.writes) == (ProtectionReason.IN_USE, ())


def test_a_volume_without_the_finalizer_gets_it_unless_it_is_being_deleted() -> None:
    assert decide_volume_protection(volume("Bound", deleted=False, finalizers=())).writes
    assert decide_volume_protection(volume("Bound", deleted=True, finalizers=())) is NOTHING
    assert decide_volume_protection(volume("Bound", deleted=False)) is NOTHING
