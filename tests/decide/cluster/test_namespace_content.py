"""When a namespace may go, and what its conditions say until then."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.api.registry import Document
from plimsoll.decide.cluster.namespace_content import (
    Clearing,
    Leftover,
    NamespaceReason,
    decide_namespace,
    finalized,
    is_ours_to_clear,
    pods_grace,
)
from plimsoll.decide.plan import Patch, Plan, ResourceName
from plimsoll.decide.resources import PODS
from tests.builders import a_pod

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
CLAIMS = ResourceName("", "v1", "persistentvolumeclaims")
SETS = ResourceName("apps", "v1", "statefulsets")


def terminating(**status: Any) -> Document:
    return {
        "metadata": {
            "name": "old",
            "uid": "u",
            "resourceVersion": "9",
            "deletionTimestamp": "2024-01-01T11:59:00Z",
        },
        "spec": {"finalizers": ["kubernetes", "example.com/keep"]},
        "status": {"phase": "Terminating"} | status,
    }


def conditions(plan: Plan) -> dict[str, tuple[str, str, str]]:
    (patch,) = plan.writes
    assert isinstance(patch, Patch)
    assert (patch.subresource, patch.version, patch.uid) == ("status", "9", "u")
    return {
        c["type"]: (c["status"], c["reason"], c["message"])
        for c in patch.patch["status"]["conditions"]
    }


def test_an_empty_namespace_may_go_and_says_that_all_went_well() -> None:
    plan = decide_namespace(terminating(), Clearing(), NOW)
    assert plan.reason == NamespaceReason.GONE
    assert conditions(plan) == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "False",
            "ContentRemoved",
            "All content successfully removed",
        ),
        "NamespaceFinalizersRemaining": (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    }


def test_what_remains_is_counted_by_resource_and_by_finalizer() -> None:
    held = ObjectMeta(finalizers=("b.example/x", "a.example/y"))
    other = ObjectMeta(finalizers=("b.example/x",))
    clearing = Clearing(leftovers=(Leftover.of(SETS, [held]), Leftover.of(CLAIMS, [held, other])))
    plan = decide_namespace(terminating(), clearing, NOW)
    told = conditions(plan)
    assert plan.reason == NamespaceReason.REMAINS
    assert plan.recheck_after == timedelta(seconds=8.5)
    assert told["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        (
            "Some resources are remaining: persistentvolumeclaims. has 2 resource instances, "
            "statefulsets.apps has 1 resource instances"
        ),
    )
    assert told["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        (
            "Some content in the namespace has finalizers remaining: "
            "a.example/y in 2 resource instances, b.example/x in 3 resource instances"
        ),
    )
    assert told["NamespaceDeletionContentFailure"][0] == "False"


def test_objects_that_nothing_holds_and_that_stay_are_a_failure() -> None:
    clearing = Clearing(leftovers=(Leftover.of(PODS, [ObjectMeta()]),), failures=("no entry",))
    plan = decide_namespace(terminating(), clearing, NOW)
    assert plan.reason == NamespaceReason.FAILED
    assert conditions(plan)["NamespaceDeletionContentFailure"] == (
        "True",
        "ContentDeletionFailed",
        (
            "Failed to delete all resource types, 2 remaining: no entry, "
            "unexpected items still remain in namespace: old for gvr: /v1, Resource=pods"
        ),
    )


def test_kinds_that_are_not_known_keep_the_namespace() -> None:
    plan = decide_namespace(terminating(), Clearing(undiscovered=("x.io/v1: down",)), NOW)
    assert plan.reason == NamespaceReason.FAILED
    assert conditions(plan)["NamespaceDeletionDiscoveryFailure"] == (
        "True",
        "DiscoveryFailed",
        "Discovery failed for some groups, 1 failing: x.io/v1: down",
    )


def test_saying_the_same_again_writes_nothing() -> None:
    first = decide_namespace(terminating(), Clearing(), NOW)
    (patch,) = first.writes
    assert isinstance(patch, Patch)
    told = terminating(conditions=patch.patch["status"]["conditions"])
    assert decide_namespace(told, Clearing(), NOW + timedelta(minutes=1)).writes == ()


def test_conditions_of_others_stay_and_times_change_with_the_status_only() -> None:
    (patch,) = decide_namespace(terminating(), Clearing(), NOW).writes
    assert isinstance(patch, Patch)
    foreign = {"type": "Theirs", "status": "True"}
    told = terminating(conditions=[foreign, *patch.patch["status"]["conditions"]])
    later = NOW + timedelta(minutes=1)
    left = Clearing(leftovers=(Leftover.of(CLAIMS, [ObjectMeta(finalizers=("a/b",))]),))
    (patch,) = decide_namespace(told, left, later).writes
    assert isinstance(patch, Patch)
    after = patch.patch["status"]["conditions"]
    times = {c["type"]: c.get("lastTransitionTime") for c in after}
    assert after[0] == foreign
    assert times["NamespaceContentRemaining"] == "2024-01-01T12:01:00Z"
    assert times["NamespaceDeletionContentFailure"] == "2024-01-01T12:00:00Z"


def a_pod_with(grace: int, phase: str = "Running") -> Pod:
    pod = a_pod()
    spec = msgspec.structs.replace(pod.spec, termination_grace_period_seconds=grace)
    return msgspec.structs.replace(pod, spec=spec, status=PodStatus(phase=phase))


@pytest.mark.parametrize(
    ("pods", "age", "seconds"),
    [
        pytest.param([a_pod_with(30), a_pod_with(60)], 10, 60, id="the-longest"),
        pytest.param([a_pod_with(30)], 30, 0, id="over"),
        pytest.param([a_pod_with(30, "Failed")], 10, 0, id="finished-pods-need-no-time"),
        pytest.param([], 10, 0, id="no-pods"),
    ],
)
def test_pods_are_given_the_time_they_were_promised(
    pods: list[Pod], age: int, seconds: int
) -> None:
    deleted_at = NOW - timedelta(seconds=age)
    assert pods_grace(pods, deleted_at=deleted_at, now=NOW) == timedelta(seconds=seconds)


def test_only_a_namespace_that_waits_for_us_is_ours_and_others_keep_their_finalizers() -> None:
    assert is_ours_to_clear(terminating())
    after = finalized(terminating())
    assert after["spec"]["finalizers"] == ["example.com/keep"]
    assert not is_ours_to_clear(after)
    alive = {"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes"]}}
    assert not is_ours_to_clear(alive)


LEFTOVERS = st.builds(
    lambda held, grace: Leftover.of(
        CLAIMS, [ObjectMeta(finalizers=tuple(held))], timedelta(seconds=grace)
    ),
    st.lists(st.sampled_from(["a/b", "c/d"]), unique=True),
    st.integers(0, 3),
)


@given(
    leftovers=st.lists(LEFTOVERS, max_size=3),
    failures=st.lists(st.text(max_size=3), max_size=2),
    undiscovered=st.lists(st.text(max_size=3), max_size=2),
)
def test_a_namespace_goes_exactly_when_nothing_is_left_and_nothing_is_unknown(
    leftovers: list[Leftover], failures: list[str], undiscovered: list[str]
) -> None:
    clearing = Clearing(
        leftovers=tuple(leftovers), failures=tuple(failures), undiscovered=tuple(undiscovered)
    )
    plan = decide_namespace(terminating(), clearing, NOW)
    assert (plan.reason == NamespaceReason.GONE) == (not (leftovers or failures or undiscovered))
