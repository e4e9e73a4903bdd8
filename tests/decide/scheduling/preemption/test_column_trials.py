from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Judged, KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, Placement
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.preemption.trial import NodeTrial, TrialPod
from plimsoll.decide.scheduling.rule_fit import Rejected
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import flags_by_node, ranked
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds
from tests.decide.scheduling.preemption.crowded import promised_pods

COMPATIBLE = KernelSettings(policy=Policy.COMPATIBLE)


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_room_is_left_for_nominated_pods_on_every_node(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod, view, columns = a_new_pod(chance, objects), plain.cluster_of(objects), Columns.of(objects)
    for promised in promised_pods(chance):
        columns.nominations.put(promised)
    waiting, found = TrialPod.of(pod, view), flags_by_node(Kernel(columns, COMPATIBLE), pod)

    if isinstance(found, Rejected) or isinstance(waiting, Rejected):
        assert found == waiting
        return
    for node in view.nodes.values():
        nominated = columns.nominations.counted_for(pod, node.name)
        obstacle = NodeTrial.of(waiting, node, view, nominated).find_obstacle()
        assert (found[node.name] == 0) == (obstacle is None)


def test_a_pod_goes_to_the_node_that_it_was_promised() -> None:
    columns = Columns.of([a_node("node-1", cpu="2"), a_node("node-2", cpu="8")])
    pod = ranked(a_pod(requests={"cpu": "1"}), 1, nominated="node-1")

    placed = Kernel(columns).decide(pod)

    assert isinstance(placed, Placement)
    assert placed.node == "node-1"


def test_a_promised_node_that_refused_the_pod_is_not_insisted_on() -> None:
    columns = Columns.of([a_node("node-1"), a_node("node-2")])
    pod = ranked(a_pod(requests={"cpu": "1"}), 1, nominated="node-1")

    placed = Kernel(columns).decide(pod, refused=["node-1"])

    assert isinstance(placed, Placement)
    assert placed.node == "node-2"


def test_other_pods_keep_away_from_a_node_that_was_promised() -> None:
    columns = Columns.of([a_node("node-1", cpu="2")])
    columns.nominations.put(ranked(a_pod("first", requests={"cpu": "2"}), 10, nominated="node-1"))
    kernel = Kernel(columns)

    for priority, is_kept_away in ((10, True), (11, False)):
        judged = kernel.judge(ranked(a_pod("second", requests={"cpu": "1"}), priority))
        assert isinstance(judged, Judged)
        assert judged.flags[0].astype(bool) == is_kept_away
