"""How fast the nodes of a zone are given up."""

import pytest

from plimsoll.decide.cluster.node_lifecycle.zones import (
    EvictionRates,
    ZoneState,
    eviction_rate,
    zone_of,
    zone_state,
)
from tests.builders import ZONE, a_node

RATES = EvictionRates()


@pytest.mark.parametrize(
    ("ready", "unready", "state"),
    [
        (0, 1, ZoneState.FULL_DISRUPTION),
        (1, 2, ZoneState.NORMAL),
        (2, 3, ZoneState.PARTIAL_DISRUPTION),
        (3, 3, ZoneState.NORMAL),
        (0, 0, ZoneState.NORMAL),
    ],
)
def test_the_state_of_a_zone_follows_from_how_many_of_its_nodes_are_ready(
    ready: int, unready: int, state: ZoneState
) -> None:
    assert zone_state([True] * ready + [False] * unready, RATES) is state


@pytest.mark.parametrize(
    ("state", "size", "rate"),
    [
        (ZoneState.NORMAL, 3, 0.1),
        (ZoneState.FULL_DISRUPTION, 3, 0.1),
        (ZoneState.PARTIAL_DISRUPTION, 50, 0.0),
        (ZoneState.PARTIAL_DISRUPTION, 51, 0.01),
    ],
)
def test_how_many_nodes_of_a_zone_are_given_up_per_second(
    state: ZoneState, size: int, rate: float
) -> None:
    assert eviction_rate(state, size, RATES) == rate


def test_zones_of_the_same_name_in_two_regions_are_two() -> None:
    region = "topology.kubernetes.io/region"
    here, there = (a_node(labels={ZONE: "a", region: name}) for name in ("here", "there"))
    assert zone_of(here) != zone_of(there)
    assert zone_of(a_node(labels={ZONE: "a"})) != zone_of(a_node()) == ""
