from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import SpreadConstraint
from plimsoll.decide.scheduling.rules.pod_topology_spread.counted_nodes import ConstraintColumns
from tests.builders import HOSTNAME, ZONE, a_node
from tests.decide.scheduling.rules.pod_topology_spread.builders import (
    a_constraint,
    a_spread_pod,
    a_web_pod,
    zonal_nodes,
)


def read(columns: Columns, *keys: str, needs_all_keys: bool = True) -> ConstraintColumns:
    pod = a_spread_pod()
    constraints = tuple(SpreadConstraint.of(a_constraint(key), pod.labels) for key in keys)
    found = ConstraintColumns(pod, constraints, needs_all_keys=needs_all_keys)
    found.read_nodes(columns)
    return found


def test_pods_are_added_up_where_nodes_count() -> None:
    crowd = [a_web_pod("a1"), a_web_pod("a2"), a_web_pod("bare"), a_web_pod("b1")]
    columns = Columns.of([*zonal_nodes(a1="a", a2="a", b1="b"), a_node("bare"), *crowd])

    found = read(columns, ZONE, HOSTNAME)
    by_zone, by_node = found.nodes
    zone_pods, node_pods = found.pods(columns)

    assert zone_pods is node_pods
    assert by_zone.sums(zone_pods).tolist() == [2, 1]
    assert by_zone.size == 2
    assert by_node.sums(node_pods).tolist() == [1, 1, 1, 0]
    assert by_node.size == 3
    assert read(columns, ZONE, HOSTNAME, needs_all_keys=False).nodes[1].size == 4


def test_the_fewest_are_none_where_domains_are_missing() -> None:
    crowd = [a_web_pod("a1"), a_web_pod("b1")]
    columns = Columns.of([*zonal_nodes(a1="a", b1="b"), *crowd])
    found = read(columns, ZONE)
    (pods,) = found.pods(columns)
    sums = found.nodes[0].sums(pods)

    assert found.nodes[0].fewest(sums, pods, 2) == 1
    assert found.nodes[0].fewest(sums, pods, 3) == 0
