from datetime import UTC, datetime, timedelta

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.policy import PodDisruptionBudget
from plimsoll.decide.scheduling.columns.pods.budgets import DisruptionBudgets
from plimsoll.decide.scheduling.preemption.trial import NodeObstacle, NodeTrial, TrialPod
from plimsoll.decide.scheduling.preemption.victims import (
    NO_VICTIMS,
    Candidate,
    by_importance,
    find_victims,
)
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.decide.scheduling.rule_fit import Rejected
from tests.builders import a_claim, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import a_budget, a_cluster, bound, on_host, ranked

START = datetime(2026, 1, 1, tzinfo=UTC)


def low(name: str, cpu: str, priority: int = 0, *, minutes: int = 0) -> Pod:
    pod = a_pod(name, requests={"cpu": cpu}, node="node-1", labels={"app": name})
    return ranked(pod, priority, started=START + timedelta(minutes=minutes))


def high(cpu: str = "4", *, claims: tuple[str, ...] = ()) -> Pod:
    return ranked(a_pod("high", requests={"cpu": cpu}, claims=claims), 100)


def tried(
    pod: Pod, *objects: ApiObject, nominated: tuple[Pod, ...] = ()
) -> Candidate | NodeObstacle:
    view, node = a_cluster(a_node(cpu="4"), *objects), a_node(cpu="4")
    waiting = TrialPod.of(pod, view)
    assert not isinstance(waiting, Rejected)
    budgets = DisruptionBudgets()
    for object_ in objects:
        if isinstance(object_, PodDisruptionBudget):
            budgets.put(object_)
    return find_victims(NodeTrial.of(waiting, node, view, nominated=nominated), budgets)


def victims(found: Candidate | NodeObstacle) -> list[str]:
    assert isinstance(found, Candidate)
    return [pod.name for pod in found.victims]


def test_the_least_important_pods_leave() -> None:
    found = tried(high("2"), low("a", "2", 1), low("b", "1"), low("c", "1", minutes=5))

    assert victims(found) == ["b", "c"]


def test_a_pod_that_fits_beside_the_new_one_stays() -> None:
    assert victims(tried(high("3"), low("a", "1"), low("b", "3"))) == ["b"]


def test_pods_with_the_same_priority_are_no_victims() -> None:
    assert tried(high(), low("a", "4", 100)) is NO_VICTIMS


def test_protected_pods_come_back_first() -> None:
    pods = low("a", "2", 1), low("b", "2")

    found = tried(high("2"), *pods, a_budget(labels={"app": "b"}))

    assert victims(found) == ["a"]
    assert isinstance(found, Candidate)
    assert found.violations == 0


def test_protected_pods_leave_if_there_is_no_other_way() -> None:
    found = tried(high("4"), low("a", "2"), low("b", "2"), a_budget(labels={"app": "b"}))

    assert isinstance(found, Candidate)
    assert found.violations == 1


def test_room_is_left_for_nominated_pods() -> None:
    promised = ranked(a_pod("promised", requests={"cpu": "1"}), 100, nominated="node-1")

    found = tried(high("4"), low("a", "4"), nominated=(promised,))

    assert isinstance(found, NodeObstacle)
    assert found.judgement.sentences == ("Insufficient cpu",)


def test_a_claim_for_one_pod_is_free_when_its_user_leaves() -> None:
    claim = bound(a_claim("single", access_modes=("ReadWriteOncePod",)), "disk")
    user = ranked(a_pod("user", claims=("single",), node="node-1"), 0)

    found = tried(high("1", claims=("single",)), claim, a_volume("disk"), user)

    assert victims(found) == ["user"]


def test_no_pod_leaves_for_a_volume_that_is_elsewhere() -> None:
    claim = bound(a_claim("far"), "disk")
    far = a_volume("disk", reachable_from=on_host("node-2"))

    found = tried(high("1", claims=("far",)), claim, far, low("a", "4"))

    assert isinstance(found, NodeObstacle)
    assert found.judgement.findings[0].reason is Reason.VOLUME_AFFINITY_CONFLICT


def test_pods_that_have_not_started_are_least_important() -> None:
    pods = [ranked(a_pod("new"), 0), ranked(a_pod("old"), 0, started=START)]

    assert [pod.name for pod in by_importance(pods)] == ["old", "new"]
