import pytest
from hypothesis import given, settings

from plimsoll.api.core import Taint
from plimsoll.api.pods import Pod, PodSpec, Toleration
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import slots_of
from plimsoll.decide.scheduling.rules import taint_toleration
from plimsoll.decide.scheduling.rules.taint_toleration import SOFT, tolerates, tolerates_softly
from tests.builders import a_node, a_pod, meta
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_random_node,
    by_identity,
    seeds,
)


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_are_judged_like_each_by_itself(seed: int) -> None:
    chance = Chance(seed)
    columns = Columns.of(by_identity(a_random_node(chance) for _ in range(5)))
    pod = a_new_pod(chance)

    blocked = taint_toleration.blocked(pod, columns)

    refused = {
        node.name for node in columns.all_nodes() if not taint_toleration.judge(pod, node).is_fit
    }
    found = slots_of(blocked & columns.index.alive)
    assert {columns.index.names[slot] for slot in found} == refused
    soft = taint_toleration.soft_taints(pod, columns)
    for node in columns.all_nodes():
        number = taint_toleration.avoided(pod, node)
        assert (0 if soft is None else soft[columns.index.find(node.name)]) == number


def test_a_toleration_of_hard_taints_does_not_make_soft_ones_welcome() -> None:
    hard = Toleration(key="gpu", operator="Exists", effect="NoSchedule")
    pod = Pod(metadata=meta("p", "default"), spec=PodSpec(tolerations=(hard,)))

    assert tolerates(pod, Taint(key="gpu", effect="NoSchedule"))
    assert not tolerates_softly(pod, Taint(key="gpu", effect=SOFT))


@pytest.mark.parametrize(
    ("effect", "fits"), [("NoSchedule", False), ("NoExecute", False), (SOFT, True)]
)
def test_a_hard_taint_keeps_pods_away_that_do_not_tolerate_it(effect: str, *, fits: bool) -> None:
    node = a_node(taints=[Taint(key="gpu", effect=effect)])
    tolerant = Pod(spec=PodSpec(tolerations=(Toleration(key="gpu", operator="Exists"),)))

    assert taint_toleration.judge(a_pod(), node).is_fit is fits
    assert taint_toleration.judge(tolerant, node).is_fit
