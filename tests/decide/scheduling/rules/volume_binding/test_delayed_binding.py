from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.judge import Judge, KernelSettings
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.volume_binding.score import Point, ScoringShape, score
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_random_cluster,
    an_object,
    seeds,
)

SHAPES = [ScoringShape(), ScoringShape((Point(0, 0), Point(100, 10)))]


@given(seed=seeds)
@settings(max_examples=400, deadline=None)
def test_nodes_are_scored_by_what_the_plain_rule_would_bind_there(seed: int) -> None:
    chance = Chance(seed)
    objects, shape = a_random_cluster(chance), chance.choice(SHAPES)
    pod = a_new_pod(chance, objects)
    view, columns = plain.cluster_of(objects), Columns.of(objects)

    judged = Judge(columns, KernelSettings(Policy.COMPATIBLE, shape)).judge(pod)

    if isinstance(judged, Rejected) or judged.delayed is None:
        return
    for node in view.nodes.values():
        volumes = plain.volumes_for(pod, node, view)
        slot = columns.index.find(node.name)
        if isinstance(volumes, PodVolumes):
            assert judged.delayed.statics[slot] == len(volumes.static)
            assert judged.delayed.scores[slot] == score(volumes, shape)


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_the_default_policy_refuses_more_nodes_only_where_claims_do_not_fit_together(
    seed: int,
) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    columns = Columns.of(objects)
    judges = [
        Judge(columns, KernelSettings(policy)) for policy in (Policy.COMPATIBLE, Policy.DEFAULT)
    ]
    for _ in range(5):
        pod = a_new_pod(chance, objects)
        compatible, default = (judge.judge(pod) for judge in judges)
        if isinstance(compatible, Rejected) or isinstance(default, Rejected):
            assert compatible == default
            continue
        fewer = compatible.is_feasible & ~default.is_feasible
        assert (default.flags[fewer] == Blocked.DELAYED_TOGETHER).all()
        more = default.is_feasible & ~compatible.is_feasible
        assert default.delayed is not None or not more.any()
        # Only an assignment of several volumes can have made the difference.
        assert default.delayed is None or (default.delayed.statics[more] > 0).all()
        columns.put(an_object(chance))
