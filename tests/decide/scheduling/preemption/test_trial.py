from hypothesis import given, settings

from plimsoll.decide.scheduling.preemption.trial import NodeObstacle, NodeTrial, TrialPod
from plimsoll.decide.scheduling.rule_fit import Rejected
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import a_cluster
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_the_first_rule_that_speaks_against_a_node_is_the_obstacle(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod, view = a_new_pod(chance, objects), plain.cluster_of(objects)

    waiting = TrialPod.of(pod, view)

    if isinstance(waiting, Rejected):
        assert waiting == plain.rejection(pod, view)
        return
    for node in view.nodes.values():
        found = plain.judgements(pod, node, view).items()
        against = [NodeObstacle(*each) for each in found if not each[1].is_fit]
        expected = against[0] if against else None
        assert NodeTrial.of(waiting, node, view).find_obstacle() == expected


def test_pods_come_to_the_node_and_leave_it_in_thought() -> None:
    node, other = a_node(cpu="2"), a_pod("other", requests={"cpu": "1"}, node="node-1")
    view = a_cluster(node, other)
    waiting = TrialPod.of(a_pod(requests={"cpu": "2"}), view)
    assert isinstance(waiting, TrialPod)

    trial = NodeTrial.of(waiting, node, view)

    assert trial.find_obstacle() is not None
    assert trial.without(other).find_obstacle() is None
    assert trial.without(other).with_pod(other) == trial


def test_a_node_must_do_with_and_without_the_nominated_pods() -> None:
    node, promised = a_node(cpu="2"), a_pod("promised", requests={"cpu": "1"})
    view = a_cluster(node)
    waiting = TrialPod.of(a_pod(requests={"cpu": "2"}), view)
    assert isinstance(waiting, TrialPod)

    assert NodeTrial.of(waiting, node, view, [promised]).find_obstacle() is not None
    assert NodeTrial.of(waiting, node, view).find_obstacle() is None
