from hypothesis import given, settings, strategies as st

from plimsoll.api.core import Service, ServiceSpec
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.judge import Judge
from plimsoll.decide.scheduling.rule_fit import Rejected, RuleFit
from plimsoll.decide.scheduling.rules.pod_topology_spread.columns import TopologySpreadColumns
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import (
    SpreadState,
    judge,
    prepare,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.score import WEIGHT
from plimsoll.decide.scheduling.rules.pod_topology_spread.score_columns import SpreadScore
from tests.builders import HOSTNAME, ZONE, a_node, a_pod, meta
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds
from tests.decide.scheduling.rules.pod_topology_spread.builders import (
    a_constraint,
    a_spread_pod,
    a_web_pod,
    zonal_nodes,
)

NODES = zonal_nodes(a1="a", a2="a", b1="b")
FIT_ANYWHERE = RuleFit(None, None)


def judged(pod: Pod, columns: Columns) -> RuleFit:
    found = TopologySpreadColumns(columns).judge(pod)
    assert isinstance(found, RuleFit)
    return found


def flags(pod: Pod, columns: Columns) -> dict[str, int]:
    found = judged(pod, columns).flags
    assert found is not None
    return {name: int(found[slot]) for slot, name in enumerate(columns.index.names) if name}


def test_each_node_is_refused_by_the_first_constraint_that_it_breaks() -> None:
    columns = Columns.of([*NODES, a_node("bare"), a_web_pod("a1")])
    zone, host = a_constraint(), a_constraint(HOSTNAME)

    assert flags(a_spread_pod(host, zone), columns) == {
        "a1": Blocked.SPREAD,
        "a2": Blocked.SPREAD,
        "b1": 0,
        "bare": Blocked.SPREAD_LABEL,
    }
    assert flags(a_spread_pod(host, a_constraint("rack")), columns) == dict.fromkeys(
        ("a1", "a2", "b1", "bare"), Blocked.SPREAD_LABEL
    )


@given(
    st.lists(st.sampled_from(["a1", "a2", "b1", "bare"]), max_size=8),
    st.lists(st.tuples(st.sampled_from([ZONE, HOSTNAME]), st.integers(1, 2)), min_size=1),
    st.sampled_from([(), ("bare",)]),
)
def test_every_node_is_refused_that_the_plain_rule_refuses(
    used: list[str], spread_by: list[tuple[str, int]], bare: tuple[str, ...]
) -> None:
    nodes = [*NODES, *map(a_node, bare)]
    placed = [a_web_pod(node, number) for number, node in enumerate(used)]
    columns = Columns.of([*nodes, *placed])
    pod = a_spread_pod(*(a_constraint(key, max_skew=skew) for key, skew in spread_by))
    state = prepare(pod, columns)
    assert isinstance(state, SpreadState)

    found = judged(pod, columns).flags
    slots = {name: slot for slot, name in enumerate(columns.index.names) if name}
    refused = {name for name, slot in slots.items() if found is not None and found[slot]}
    assert refused == {node.name for node in nodes if not judge(state, node).is_fit}


def test_where_nothing_is_uneven_nothing_is_said() -> None:
    columns = Columns.of([*NODES, a_web_pod("a1")])

    assert judged(a_spread_pod(a_constraint(max_skew=2)), columns) == FIT_ANYWHERE
    assert TopologySpreadColumns(columns).judge(a_pod()) is None


def test_a_pod_of_a_service_is_spread_as_soon_as_the_service_is_there() -> None:
    columns = Columns.of(NODES)
    rule, pod = TopologySpreadColumns(columns), a_pod(labels={"app": "web"})
    service = Service(metadata=meta("web", "default"), spec=ServiceSpec(selector={"app": "web"}))

    assert rule.judge(pod) is None
    columns.put(service)
    found = rule.judge(pod)
    assert isinstance(found, RuleFit)
    assert found.score is not None
    columns.remove(service)
    assert rule.judge(pod) is None


@given(seed=seeds)
@settings(max_examples=500, deadline=None)
def test_every_node_gets_the_score_that_the_plain_rule_gives(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod = a_new_pod(chance, objects)
    view, columns = plain.cluster_of(objects), Columns.of(objects)
    verdict = Judge(columns).judge(pod)
    found = TopologySpreadColumns(columns).judge(pod)
    if isinstance(verdict, Rejected) or isinstance(found, Rejected):
        return

    slots = {name: slot for slot, name in enumerate(columns.index.names) if name}
    feasible = [node for node in view.all_nodes() if verdict.is_feasible[slots[node.name]]]
    expected = plain.spread_scores(pod, feasible, view)

    if found is None or found.score is None:
        assert not expected
        return
    assert isinstance(found.score, SpreadScore)
    for scores in (
        found.score.of_few(verdict.is_feasible),
        found.score.of_many(verdict.is_feasible),
    ):
        assert {node.name: int(scores[slots[node.name]]) for node in feasible} == {
            name: WEIGHT * score for name, score in expected.items()
        }
