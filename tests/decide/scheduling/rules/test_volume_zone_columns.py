from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import slots_of
from plimsoll.decide.scheduling.rules import volume_zone, volume_zone_columns as zones
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_random_node,
    a_random_volume,
    by_identity,
    seeds,
)


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_nodes_outside_the_zones_of_volumes_are_those_that_the_plain_rule_refuses(
    seed: int,
) -> None:
    chance = Chance(seed)
    columns = Columns.of(by_identity(a_random_node(chance) for _ in range(5)))
    volumes = [a_random_volume(chance) for _ in range(6)]
    demands = tuple(demand for volume in volumes for demand in volume_zone.zone_demands(volume))

    outside = zones.outside(demands, columns.labels, columns.index.alive)

    refused = [node for node in columns.nodes() if not volume_zone.judge(demands, node).is_fit]
    assert {columns.index.names[slot] for slot in slots_of(outside)} == {n.name for n in refused}
