from typing import Any

from msgspec import structs

from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.api.workloads import Deployment, ReplicaSet, ReplicaStatus
from plimsoll.decide.plan import Create, Patch
from plimsoll.decide.workloads.deployment.deployment import (
    DeploymentSteps,
    DeploymentView,
    decide_deployment,
    decide_failed_set,
)
from plimsoll.decide.workloads.deployment.rollout import DESIRED_REPLICAS, MAX_REPLICAS, REVISION
from plimsoll.decide.workloads.owned import DEPLOYMENT
from plimsoll.decide.workloads.pod_template import template_hash
from tests.decide.workloads.objects import (
    NOW,
    a_deployment,
    a_pod,
    a_replica_set,
    made,
    owned_by,
    status_in,
    template,
    told,
)

SCALED = {DESIRED_REPLICAS: "3", MAX_REPLICAS: "4"}


def a_set(
    name: str, image: str, replicas: int, revision: int, *, available: int | None = None
) -> ReplicaSet:
    count = replicas if available is None else available
    set_ = a_replica_set(
        name,
        replicas=replicas,
        available=count,
        annotations=SCALED | {REVISION: str(revision)},
        owner_references=owned_by(DEPLOYMENT, a_deployment()),
    )
    return structs.replace(set_, spec=structs.replace(set_.spec, template=template(image)))


def decided(
    deployment: Deployment, *sets: ReplicaSet, pods: dict[str, Any] | None = None
) -> DeploymentSteps:
    seen = DeploymentView(sets=sets, named={s.key: s for s in sets}, pods=pods or {}, now=NOW)
    return decide_deployment(deployment, seen)


def new_set(steps: DeploymentSteps) -> dict[str, Any]:
    (create,) = [write for write in steps.act.writes if isinstance(write, Create)]
    return create.document


def sizes(steps: DeploymentSteps) -> dict[str, int]:
    patches = [write for write in steps.act.writes if isinstance(write, Patch)]
    return {p.key.name: p.patch["spec"]["replicas"] for p in patches if "spec" in p.patch}


def test_the_first_template_gets_all_its_pods_at_once() -> None:
    steps = decided(a_deployment())
    document = new_set(steps)
    assert document["spec"]["replicas"] == 3
    assert document["metadata"]["annotations"] == SCALED | {REVISION: "1"}
    assert told(steps.act) == ["ScalingReplicaSet"]
    reasons = [c["reason"] for c in status_in(steps.report)["conditions"]]
    assert "NewReplicaSetCreated" in reasons


def test_the_next_template_starts_with_what_the_surge_allows() -> None:
    steps = decided(a_deployment(), a_set("web-old", "web:0", 3, 4))
    document = new_set(steps)
    assert document["spec"]["replicas"] == 1
    assert document["metadata"]["annotations"][REVISION] == "5"


def test_the_new_set_grows_before_the_old_ones_shrink() -> None:
    old, new = a_set("web-old", "web:0", 2, 1), a_set("web-new", "web:1", 1, 2)
    assert sizes(decided(a_deployment(), old, new)) == {"web-new": 2}
    full = [a_set("web-old", "web:0", 3, 1), a_set("web-new", "web:1", 1, 2)]
    assert sizes(decided(a_deployment(), *full)) == {"web-old": 1}


def test_a_template_that_returns_finds_its_set_and_gets_a_higher_revision() -> None:
    old, new = a_set("web-a", "web:1", 0, 1), a_set("web-b", "web:2", 3, 2)
    steps = decided(a_deployment(), old, new)
    (patch,) = [write for write in steps.act.writes if isinstance(write, Patch)]
    assert patch.key.name == "web-a"
    assert patch.patch["metadata"]["annotations"][REVISION] == "3"


def test_the_revision_is_told_together_with_the_status() -> None:
    new = a_set("web-a", "web:1", 3, 7)
    (patch,) = decided(a_deployment(), new).report.writes
    assert isinstance(patch, Patch)
    assert patch.subresource == "status"
    assert patch.patch["metadata"] == {"annotations": {REVISION: "7"}}


def test_a_name_that_is_taken_is_counted_as_a_collision() -> None:
    deployment = a_deployment()
    name = f"web-{template_hash(deployment.spec.template, None)}"
    foreign = a_replica_set(name)
    seen = DeploymentView(sets=(), named={foreign.key: foreign}, pods={}, now=NOW)
    steps = decide_deployment(deployment, seen)
    assert made(steps.act) == []
    assert status_in(steps.report)["collisionCount"] == 1


def test_recreate_waits_for_the_last_old_pod() -> None:
    deployment = a_deployment(strategy={"type": "Recreate"})
    old = a_set("web-old", "web:0", 3, 1)
    assert sizes(decided(deployment, old)) == {"web-old": 0}
    empty = a_set("web-old", "web:0", 0, 1)
    pods: dict[str, tuple[Pod, ...]] = {empty.uid: (a_pod("x", deletion_timestamp=NOW),)}
    assert made(decided(deployment, empty, pods=pods).act) == []
    ended = {empty.uid: (a_pod("x", phase="Failed"),)}
    assert new_set(decided(deployment, empty, pods=ended))["spec"]["replicas"] == 3


def test_a_paused_deployment_makes_no_set_but_scales_the_one_it_has() -> None:
    paused = a_deployment(paused=True, replicas=5)
    assert made(decided(a_deployment(paused=True)).act) == []
    assert sizes(decided(paused, a_set("web-old", "web:0", 3, 1))) == {"web-old": 5}


def test_scaling_in_the_middle_of_a_rollout_scales_all_sets() -> None:
    sets = [a_set("web-old", "web:0", 2, 1), a_set("web-new", "web:1", 2, 2)]
    steps = decided(a_deployment(replicas=7), *sets)
    assert sizes(steps) == {"web-old": 4, "web-new": 4}
    assert told(steps.act) == ["ScalingReplicaSet"] * 2


def test_sets_beyond_the_limit_go_when_the_rollout_is_done() -> None:
    done = ReplicaStatus(
        observed_generation=1,
        replicas=3,
        updated_replicas=3,
        ready_replicas=3,
        available_replicas=3,
    )
    deployment = structs.replace(a_deployment(revisionHistoryLimit=1), status=done)
    sets = [a_set(f"web-{n}", f"old:{n}", 0, n) for n in (1, 2, 3)]
    steps = decided(deployment, *sets, a_set("web-new", "web:1", 3, 4))
    assert made(steps.act) == ["delete replicasets web-1", "delete replicasets web-2"]


def test_a_deployment_that_selects_everything_is_refused() -> None:
    steps = decided(a_deployment(selector={}))
    assert made(steps.act) == []
    assert told(steps.report) == ["SelectingAll"]
    assert status_in(steps.report) == {"observedGeneration": 1}


def test_a_deployment_that_is_being_deleted_only_reports() -> None:
    leaving = structs.replace(
        a_deployment(), metadata=structs.replace(a_deployment().metadata, deletion_timestamp=NOW)
    )
    steps = decided(leaving, a_set("web-old", "web:0", 3, 1))
    assert made(steps.act) == []
    assert status_in(steps.report)["replicas"] == 3


def test_a_set_that_cannot_be_made_is_told_as_lack_of_progress() -> None:
    plan = decide_failed_set(a_deployment(), "web-x", "forbidden", NOW)
    assert told(plan) == ["ReplicaSetCreateError"]
    (condition,) = status_in(plan)["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "ReplicaSetCreateError")


def test_when_all_is_done_nothing_is_written() -> None:
    new = a_set("web-new", "web:1", 3, 1)
    deployment = a_deployment(annotations={REVISION: "1"})
    first = decided(deployment, new)
    status = from_document(ReplicaStatus, status_in(first.report))
    known = structs.replace(deployment, status=status)
    again = decided(known, new)
    assert [*again.act.writes, *again.report.writes] == []
