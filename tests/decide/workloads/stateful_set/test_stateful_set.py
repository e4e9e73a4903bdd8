from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, strategies as st
from msgspec import structs

from plimsoll.api.meta import OwnerReference
from plimsoll.api.pods import Pod
from plimsoll.api.workloads import ControllerRevision, StatefulSet
from plimsoll.decide.plan import Create
from plimsoll.decide.workloads.pod_template import data_hash
from plimsoll.decide.workloads.revisions import revision_data
from plimsoll.decide.workloads.stateful_set.stateful_set import (
    StatefulSetSteps,
    StatefulSetView,
    decide_stateful_set,
)
from tests.decide.workloads.objects import (
    NOW,
    a_claim,
    a_stateful_pod,
    a_stateful_set,
    made,
    meta,
    status_in,
    template,
    told,
)


def revision(image: str, number: int) -> ControllerRevision:
    data = revision_data(template(image))
    name = f"web-{data_hash(data, 0)}"
    return ControllerRevision(metadata=meta(name), data=data, revision=number)


OLD, NEW = revision("web:1", 1), revision("web:2", 2)


def seen(*pods: Pod, claims: tuple[str, ...] | None = None) -> StatefulSetView:
    """Every pod with its claim, and with both revisions stored."""
    names = tuple(f"data-{pod.name}" for pod in pods) if claims is None else claims
    found = [a_claim(name) for name in names]
    return StatefulSetView(
        pods=pods,
        claims={claim.key: claim for claim in found},
        revisions=(OLD,),
        named={OLD.key: OLD},
        now=NOW,
    )


def running(set_: StatefulSet, *ordinals: int, **pod: Any) -> list[Pod]:
    return [a_stateful_pod(set_, ordinal, OLD.name, **pod) for ordinal in ordinals]


def updated(set_: StatefulSet, world: StatefulSetView) -> StatefulSetSteps:
    """The set with another template, both revisions known."""
    spec = structs.replace(set_.spec, template=template("web:2"))
    status = structs.replace(set_.status, current_revision=OLD.name)
    both = replace(world, revisions=(OLD, NEW), named={OLD.key: OLD, NEW.key: NEW})
    return decide_stateful_set(structs.replace(set_, spec=spec, status=status), both)


def test_claims_come_before_their_pod() -> None:
    steps = decide_stateful_set(a_stateful_set(), seen())
    assert made(steps.act) == ["create persistentvolumeclaims data-web-0", "create pods web-0"]
    assert told(steps.act) == ["SuccessfulCreate", "SuccessfulCreate"]


def test_a_new_template_is_stored_before_anything_is_made_from_it() -> None:
    empty = replace(seen(), revisions=(), named={})
    steps = decide_stateful_set(a_stateful_set(), empty)
    assert made(steps.history) == [f"create controllerrevisions {OLD.name}"]


def test_a_claim_that_exists_is_used() -> None:
    steps = decide_stateful_set(a_stateful_set(), seen(claims=("data-web-0",)))
    assert made(steps.act) == ["create pods web-0"]


def test_an_ordered_set_looks_after_the_first_pod_that_does_not_serve() -> None:
    set_ = a_stateful_set()
    waiting = a_stateful_pod(set_, 0, OLD.name, phase="Pending")
    assert made(decide_stateful_set(set_, seen(waiting)).act) == []
    steps = decide_stateful_set(set_, seen(*running(set_, 0)))
    assert made(steps.act)[-1] == "create pods web-1"


def test_a_gap_is_filled_before_a_pod_with_a_higher_number_is_touched() -> None:
    set_ = a_stateful_set(replicas=2)
    steps = decide_stateful_set(set_, seen(*running(set_, 1, 2)))
    assert made(steps.act)[-1] == "create pods web-0"


def test_a_parallel_set_makes_all_and_deletes_all_at_once() -> None:
    set_ = a_stateful_set(podManagementPolicy="Parallel", replicas=2)
    steps = decide_stateful_set(set_, seen(*running(set_, 4, 5)))
    pods = [line for line in made(steps.act) if " pods " in line]
    assert pods == [
        "create pods web-0",
        "create pods web-1",
        "delete pods web-5",
        "delete pods web-4",
    ]


def test_an_ordered_set_shrinks_from_the_highest_number() -> None:
    set_ = a_stateful_set(replicas=1)
    steps = decide_stateful_set(set_, seen(*running(set_, 0, 1, 2)))
    assert made(steps.act) == ["delete pods web-2"]
    leaving = running(set_, 2, deletion_timestamp=NOW)
    assert made(decide_stateful_set(set_, seen(*running(set_, 0, 1), *leaving)).act) == []


def test_of_several_broken_pods_the_lowest_number_is_waited_for() -> None:
    """It may still come to serve, and data may be moved to it."""
    set_ = a_stateful_set(replicas=1)
    broken = running(set_, 1, 2, ready=False)
    assert made(decide_stateful_set(set_, seen(*running(set_, 0), *broken)).act) == []
    steps = decide_stateful_set(set_, seen(*running(set_, 0, 1), *running(set_, 2, ready=False)))
    assert made(steps.act) == ["delete pods web-2"]


def test_no_pod_is_made_while_its_claim_follows_an_earlier_one() -> None:
    policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    set_ = a_stateful_set(persistentVolumeClaimRetentionPolicy=policy, replicas=1)
    old = OwnerReference(api_version="v1", kind="Pod", name="web-0", uid="gone", controller=True)
    stale = a_claim("data-web-0", old)
    steps = decide_stateful_set(set_, replace(seen(), claims={stale.key: stale}))
    assert made(steps.act) == []


def test_a_pod_with_the_wrong_volumes_is_told_about_and_left_alone() -> None:
    set_ = a_stateful_set(replicas=1)
    pod = structs.replace(running(set_, 0)[0], spec=Pod().spec)
    steps = decide_stateful_set(set_, seen(pod))
    assert (made(steps.act), told(steps.act)) == ([], ["FailedUpdate"])


def test_an_update_takes_one_pod_at_a_time_from_the_highest_number() -> None:
    set_ = a_stateful_set()
    steps = updated(set_, seen(*running(set_, 0, 1, 2)))
    assert made(steps.act) == ["delete pods web-2"]
    assert status_in(steps.report)["currentReplicas"] == 2


def test_pods_below_the_partition_are_not_updated() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    set_ = a_stateful_set(updateStrategy=rolling)
    fresh = a_stateful_pod(set_, 2, NEW.name)
    steps = updated(set_, seen(*running(set_, 0, 1), fresh))
    assert made(steps.act) == []
    made_again = updated(set_, seen(*running(set_, 1), fresh, claims=("data-web-0",)))
    (create,) = [write for write in made_again.act.writes if isinstance(write, Create)]
    assert create.document["spec"]["containers"][0]["image"] == "web:1"
    assert create.document["metadata"]["labels"]["controller-revision-hash"] == OLD.name


def test_a_share_of_pods_may_be_updated_at_once_but_at_least_one() -> None:
    def deleted(max_unavailable: str, replicas: int) -> int:
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": max_unavailable}}
        set_ = a_stateful_set(
            replicas=replicas, updateStrategy=rolling, podManagementPolicy="Parallel"
        )
        return len(made(updated(set_, seen(*running(set_, *range(replicas)))).act))

    assert deleted("50%", 5) == 2
    assert deleted("10%", 5) == 1


def test_an_update_waits_for_the_pod_that_it_has_just_renewed() -> None:
    set_ = a_stateful_set(podManagementPolicy="Parallel")
    fresh = a_stateful_pod(set_, 2, NEW.name, ready=False)
    assert made(updated(set_, seen(*running(set_, 0, 1), fresh)).act) == []


def test_an_update_reaches_a_pod_that_is_broken() -> None:
    set_ = a_stateful_set(podManagementPolicy="Parallel", replicas=2)
    broken, fresh = running(set_, 0, ready=False), a_stateful_pod(set_, 1, NEW.name)
    assert made(updated(set_, seen(*broken, fresh)).act) == ["delete pods web-0"]


def test_an_update_of_several_at_once_waits_while_as_many_are_missing_already() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    set_ = a_stateful_set(podManagementPolicy="Parallel", updateStrategy=rolling)
    one_missing = updated(set_, seen(*running(set_, 0, 1), *running(set_, 2, ready=False)))
    assert made(one_missing.act) == ["delete pods web-2"]
    two_missing = updated(set_, seen(*running(set_, 0), *running(set_, 1, 2, ready=False)))
    assert made(two_missing.act) == []


def test_a_finished_update_makes_the_new_revision_the_current_one() -> None:
    set_ = a_stateful_set(replicas=1)
    steps = updated(set_, seen(a_stateful_pod(set_, 0, NEW.name)))
    status = status_in(steps.report)
    assert (status["currentRevision"], status["updateRevision"]) == (NEW.name, NEW.name)
    assert status["currentReplicas"] == 1


def test_a_set_that_is_being_deleted_only_reports() -> None:
    set_ = structs.replace(a_stateful_set(), metadata=meta("web", deletion_timestamp=NOW))
    steps = decide_stateful_set(set_, seen(*running(set_, 0)))
    assert made(steps.act) == []
    assert status_in(steps.report)["replicas"] == 1


def test_a_set_with_nothing_to_say_says_nothing() -> None:
    set_ = a_stateful_set(replicas=1)
    world = seen(*running(set_, 0))
    status = status_in(decide_stateful_set(set_, world).report)
    known = a_stateful_set(replicas=1, status=status)
    steps = decide_stateful_set(known, world)
    assert [*steps.history.writes, *steps.act.writes, *steps.report.writes] == []


def test_the_next_look_is_when_a_pod_becomes_available() -> None:
    set_ = a_stateful_set(minReadySeconds=30, replicas=1)
    steps = decide_stateful_set(set_, seen(*running(set_, 0, since=NOW - timedelta(seconds=10))))
    assert steps.report.recheck_after == timedelta(seconds=20)


PODS = st.dictionaries(
    st.integers(0, 5),
    st.tuples(st.sampled_from(["Pending", "Running", "Failed"]), st.booleans(), st.booleans()),
)


@given(
    pods=PODS,
    claims=st.sets(st.integers(0, 5)),
    replicas=st.integers(0, 5),
    policy=st.sampled_from(["OrderedReady", "Parallel"]),
)
def test_whatever_there_is_no_pod_is_made_twice_or_without_its_claims(
    pods: dict[int, tuple[str, bool, bool]], claims: set[int], replicas: int, policy: str
) -> None:
    set_ = a_stateful_set(replicas=replicas, podManagementPolicy=policy)
    found = [
        a_stateful_pod(
            set_,
            ordinal,
            OLD.name,
            phase=phase,
            ready=ready and phase == "Running",
            deletion_timestamp=NOW if leaving else None,
        )
        for ordinal, (phase, ready, leaving) in pods.items()
    ]
    steps = decide_stateful_set(set_, seen(*found, claims=tuple(f"data-web-{n}" for n in claims)))
    there = {f"data-web-{n}" for n in claims}
    names = [pod.name for pod in found]
    lines = made(steps.act)
    for line in lines:
        verb, kind, name = line.split()
        if kind == "persistentvolumeclaims":
            there.add(name)
        elif verb == "create":
            assert name not in names
            assert f"data-{name}" in there
            assert int(name.removeprefix("web-")) < replicas
            names.append(name)
    assert len(lines) == len(set(lines))
    if policy == "OrderedReady":
        assert sum(" pods " in line for line in lines) <= 1
