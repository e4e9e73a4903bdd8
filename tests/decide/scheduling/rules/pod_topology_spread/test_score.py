import math

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.rules.pod_topology_spread.score import (
    normalized,
    prepare,
    raw_scores,
)
from tests.builders import HOSTNAME, a_node
from tests.decide.scheduling.builders import a_cluster
from tests.decide.scheduling.rules.pod_topology_spread.builders import (
    a_constraint,
    a_spread_pod,
    a_web_pod,
    zonal_nodes,
)

NODES = zonal_nodes(a1="a", a2="a", b1="b")
SOFT_ZONE = a_constraint(is_hard=False)
SOFT_HOST = a_constraint(HOSTNAME, is_hard=False, max_skew=3)


def raw(pod: Pod, *objects: ApiObject) -> dict[str, int]:
    view = a_cluster(*objects)
    soft = prepare(pod, view)
    assert soft is not None
    return raw_scores(pod, soft, [each for each in objects if isinstance(each, Node)], view)


def test_pods_weigh_by_the_number_of_domains() -> None:
    crowd = [a_web_pod("a1"), a_web_pod("a1", 1), a_web_pod("a2")]

    by_zone = raw(a_spread_pod(SOFT_ZONE), *NODES, *crowd)
    by_node = raw(a_spread_pod(SOFT_HOST), *NODES, *crowd)

    assert by_zone == {"a1": round(3 * math.log(4)), "a2": round(3 * math.log(4)), "b1": 0}
    assert by_node == {"a1": round(2 * math.log(5) + 2), "a2": round(math.log(5) + 2), "b1": 2}


def test_nodes_without_the_label_are_last_and_do_not_count() -> None:
    bare = a_node("bare")
    found = raw(a_spread_pod(SOFT_ZONE), *NODES, bare, a_web_pod("bare"), a_web_pod("a1"))

    assert found == {"a1": 1, "a2": 1, "b1": 0}
    assert normalized(found, [*NODES, bare]) == {"a1": 0, "a2": 0, "b1": 100, "bare": 0}


def test_scores_are_compared_with_the_best_and_the_worst() -> None:
    assert normalized({"a1": 2, "a2": 4, "b1": 3}, NODES) == {"a1": 100, "a2": 50, "b1": 75}
    assert normalized({"a1": 0, "a2": 0}, NODES) == {"a1": 100, "a2": 100, "b1": 0}
