from random import Random

import numpy as np
from hypothesis import given, settings

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import MEANINGS
from plimsoll.decide.scheduling.reasons import FIT, Judgement
from plimsoll.decide.scheduling.rule_fit import Rejected, RuleFit
from plimsoll.decide.scheduling.rules.inter_pod_affinity import (
    filter as plain,
    score as plain_score,
)
from plimsoll.decide.scheduling.rules.inter_pod_affinity.all_nodes import InterPodAffinityColumns
from plimsoll.decide.scheduling.view import Cluster
from tests.decide.scheduling.columns.clusters import seeds
from tests.decide.scheduling.columns.neighbours import a_crowd, a_neighbour


def said_by_columns(fit: RuleFit | None, slot: int) -> list[str]:
    flags = 0 if fit is None or fit.flags is None else int(fit.flags[slot])
    return [meaning.sentence for flag, meaning in MEANINGS.items() if flags & flag]


def assert_same(pod: Pod, objects: list[ApiObject], columns: Columns) -> None:
    view = Cluster.of(objects)
    state = plain.prepare(pod, view)
    rule = InterPodAffinityColumns(columns)
    fit = rule.judge(pod)
    if isinstance(fit, Rejected):
        assert fit.judgement == state
        return
    for node in view.all_nodes():
        slot = columns.index.find(node.name)
        assert slot is not None
        judged = FIT if isinstance(state, Judgement) else plain.judge(state, node)
        assert said_by_columns(fit, slot) == list(judged.sentences)
    assert_same_score(pod, view, columns, fit)
    assert_same_state(state, rule.prepare(pod))


def assert_same_score(pod: Pod, view: Cluster, columns: Columns, fit: RuleFit | None) -> None:
    weights = plain_score.prepare_score(pod, view)
    raw = {node.name: plain_score.score(weights, node) for node in view.all_nodes()}
    is_feasible = np.array([bool(name) for name in columns.index.names])
    scores = np.zeros(columns.index.size, np.int64)
    if fit is not None and fit.score is not None:
        scores = fit.score.weighted(is_feasible)
    for name, value in plain_score.normalized(raw).items():
        assert scores[columns.index.find(name)] == plain_score.WEIGHT * value


def assert_same_state(
    one: plain.PodAffinityState | Judgement, other: plain.PodAffinityState | Judgement
) -> None:
    if isinstance(one, Judgement) or isinstance(other, Judgement):
        assert one == other
        return
    assert one.wanted == other.wanted
    assert one.unwanted == other.unwanted
    assert one.excluding == other.excluding


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_are_judged_like_each_by_itself(seed: int) -> None:
    chance = Random(seed)
    objects = a_crowd(chance)
    for pod in (a_neighbour(chance, "new", broken=0.02) for _ in range(3)):
        assert_same(pod, objects, Columns.of(objects))


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_columns_follow_pods_nodes_and_namespaces_that_come_and_go(seed: int) -> None:
    chance = Random(seed)
    before, after = a_crowd(chance), a_crowd(chance)
    pods = [a_neighbour(chance, "new") for _ in range(2)]
    columns = Columns.of(before)
    kept = {(type(each), each.key): each for each in before}
    for pod in pods:
        assert_same(pod, [*kept.values()], columns)
    chance.shuffle(after)
    for object_ in after:
        columns.put(object_)
        kept[type(object_), object_.key] = object_
    gone = chance.sample(sorted(kept, key=str), len(kept) // 3)
    for identity in gone:
        columns.remove(kept.pop(identity))

    # Pods whose node is gone are on no node.
    names = {each.name for each in kept.values() if isinstance(each, Node)}
    there = [
        each for each in kept.values() if not isinstance(each, Pod) or each.spec.node_name in names
    ]
    for pod in pods:
        assert_same(pod, there, columns)
        assert_same(pod, there, columns.fork())
