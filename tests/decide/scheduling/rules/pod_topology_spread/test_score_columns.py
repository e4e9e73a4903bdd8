import numpy as np

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.rule_fit import RuleFit
from plimsoll.decide.scheduling.rules.pod_topology_spread.columns import TopologySpreadColumns
from tests.builders import HOSTNAME, a_node
from tests.decide.scheduling.rules.pod_topology_spread.builders import (
    a_constraint,
    a_spread_pod,
    a_web_pod,
    zonal_nodes,
)

NODES = [*zonal_nodes(a1="a", a2="a", b1="b"), a_node("bare")]
SOFT = (a_constraint(HOSTNAME, is_hard=False), a_constraint(is_hard=False))


def scores(columns: Columns, feasible: set[str]) -> dict[str, int]:
    found = TopologySpreadColumns(columns).judge(a_spread_pod(*SOFT))
    assert isinstance(found, RuleFit)
    assert found.score is not None
    names = columns.index.names
    weighted = found.score.weighted(np.array([name in feasible for name in names]))
    return {name: int(weighted[slot]) for slot, name in enumerate(names) if name in feasible}


def test_only_nodes_that_will_do_are_compared() -> None:
    columns = Columns.of([*NODES, a_web_pod("a1"), a_web_pod("a1", 1), a_web_pod("b1")])

    assert scores(columns, {"a1", "a2", "b1", "bare"}) == {
        "a1": 100,
        "a2": 200,
        "b1": 200,
        "bare": 0,
    }
    assert scores(columns, {"a2"}) == {"a2": 200}
    assert scores(columns, {"bare"}) == {"bare": 0}


def test_without_pods_all_nodes_are_as_good() -> None:
    assert scores(Columns.of(NODES), {"a1", "b1"}) == {"a1": 200, "b1": 200}
