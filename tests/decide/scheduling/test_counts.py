import numpy as np
from hypothesis import example, given, settings

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.counts import counts
from plimsoll.decide.scheduling.flags import RULES
from plimsoll.decide.scheduling.judge import Judge, KernelSettings
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.narrowing import Narrowing, narrow
from plimsoll.decide.scheduling.view import Cluster
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds


@given(seed=seeds)
@example(seed=80106)  # names a node; another one cannot be scheduled to
@settings(max_examples=300, deadline=None)
def test_nodes_are_counted_by_the_first_rule_that_speaks_against_them(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod = a_new_pod(chance, objects)
    view, columns = plain.cluster_of(objects), Columns.of(objects)
    judged = Judge(columns, KernelSettings(Policy.COMPATIBLE)).judge(pod)
    if isinstance(judged, Rejected):
        return

    found = counts(judged, columns, lambda _slot, _rule: "?")

    expected: dict[tuple[str, str], int] = {}
    for node in view.nodes.values():
        for key in said_of(node, pod, view):
            expected[key] = expected.get(key, 0) + 1
    summed: dict[tuple[str, str], int] = {}
    for count in found:
        key = (str(count.rule), str(count.reason))
        summed[key] = summed.get(key, 0) + count.nodes
    # A node may lack several resources: each is counted under its own name.
    for key, number in expected.items():
        assert summed[key] == number or (key[1] == "InsufficientResource" and summed[key] > number)
    assert summed.keys() == expected.keys()
    assert np.count_nonzero(judged.is_feasible) + len(expected) >= min(len(view.nodes), 1)


def said_of(node: Node, pod: Pod, view: Cluster) -> set[tuple[str, str]]:
    """A node that the pod does not name is not looked at, whatever else speaks against it."""
    narrowing = narrow(pod)
    if isinstance(narrowing, Narrowing) and node.name not in narrowing.names:
        return {(str(narrowing.rules[0]), str(Reason.NODE_AFFINITY_MISMATCH))}
    judgements = plain.judgements(pod, node, view)
    first = next((rule for rule in RULES if not judgements[rule].is_fit), None)
    return {(str(first), str(f.reason)) for f in judgements[first].findings} if first else set()
