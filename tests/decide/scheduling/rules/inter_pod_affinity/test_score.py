import numpy as np
import pytest

from plimsoll.decide.scheduling.rules.inter_pod_affinity.score import (
    WEIGHT,
    PodAffinityScore,
    normalized,
    prepare_score,
    score,
)
from plimsoll.decide.scheduling.view import Cluster
from tests.decide.scheduling.rules.inter_pod_affinity.builders import (
    HOST,
    a_place,
    a_pod_of,
    near,
    rather_near,
    term,
)


def test_nodes_near_preferred_pods_are_better_and_so_are_those_near_pods_that_prefer_it() -> None:
    nodes = a_place("n1", "a"), a_place("n2", "a"), a_place("n3", "b")
    db = a_pod_of("db", "db-0", node="n1", affinity=near(term("web", HOST)))
    pod = a_pod_of("web", affinity=rather_near(10, term("db")))

    weights = prepare_score(pod, Cluster.of([*nodes, db]))

    assert [score(weights, node) for node in nodes] == [11, 10, 0]


@pytest.mark.parametrize(("raw", "percent"), [(29, 28), (57, 56), (58, 57), (7, 7), (50, 50)])
def test_numbers_are_rounded_like_those_of_kube_scheduler(raw: int, percent: int) -> None:
    assert normalized({"a": 0, "b": raw, "c": 100}) == {"a": 0, "b": percent, "c": 100}
    scores = PodAffinityScore(np.array([0, raw, 100, 7000]))
    is_feasible = np.array([True, True, True, False])
    assert scores.weighted(is_feasible)[:3].tolist() == [0, WEIGHT * percent, WEIGHT * 100]


def test_nodes_that_are_all_equal_get_nothing() -> None:
    assert normalized({"a": -5, "b": -5}) == {"a": 0, "b": 0}
    scores = PodAffinityScore(np.array([-5, -5, 0]))
    assert scores.weighted(np.array([True, True, False])).tolist()[:2] == [0, 0]
