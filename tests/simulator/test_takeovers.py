"""Zones are taken over and given back while everything else goes wrong as well."""

from dataclasses import replace

import pytest

from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap
from plimsoll.decide.ceph.takeover.view import TakeoverView
from plimsoll.simulator.run import run_scenario
from plimsoll.simulator.scenario.actions import CreateStatefulSet
from plimsoll.simulator.scenario.generate import generate
from plimsoll.simulator.scenario.generated.takeovers import AUTO_SET, SERVED, SERVED_SET
from plimsoll.simulator.settled.takeovers import left_to_do
from tests.builders import a_node

SEED = 19
"""One in which a zone is lost, taken over and given back."""
SERVES_A, SERVES_B = "topology.d.org/serves.a", "topology.d.org/serves.b"
HOME = a_node("a1", labels={"x/zone": "a", SERVES_A: "true"})
VIEW = TakeoverView(domains=DomainLabels(driver="d.org", labels=("x/zone",)), nodes=(HOME,))


def test_a_zone_is_taken_over_amid_faults_and_every_invariant_holds() -> None:
    verdict = run_scenario(generate(SEED), keeps_lines=True)
    assert verdict.unknown == ()
    calls = ("FenceDomain", "ReleaseDomain")
    carried_out = [
        call
        for line in verdict.lines
        for call in calls
        if f"{call} at" in line and line.endswith("-> OK")
    ]
    assert carried_out == [*calls]


def test_only_scenarios_with_takeovers_have_what_belongs_to_them() -> None:
    for seed in range(60):
        scenario = generate(seed)
        names = {e.name for e in scenario.actions if isinstance(e, CreateStatefulSet)}
        has_takeover = bool(names & {SERVED_SET, AUTO_SET})
        assert bool(scenario.cluster.takeover) is has_takeover
        assert (SERVED in scenario.cluster.classes) is has_takeover
        pools = [pool for driver in scenario.cluster.drivers for pool in driver.pools]
        assert any("copies" in pool for pool in pools) is has_takeover


@pytest.mark.parametrize(
    ("view", "left"),
    [
        pytest.param(VIEW, [], id="nothing"),
        pytest.param(
            replace(VIEW, nodes=(a_node("a1", labels={"x/zone": "a"}),)),
            [f"node a1 has not got {SERVES_A}"],
            id="a-label-is-missing",
        ),
        pytest.param(
            replace(VIEW, nodes=(a_node("a1", labels={**HOME.labels, SERVES_B: "true"}),)),
            [f"node a1 still has {SERVES_B}"],
            id="a-label-is-left",
        ),
        pytest.param(
            replace(VIEW, fenced=[("b",)]),
            ["domain b is not released, and no node outside depends on it"],
            id="a-fence-is-left",
        ),
        pytest.param(
            replace(VIEW, takeover=TakeoverMap(targets_by_source={"b": ("a",)})),
            ["domain b is not fenced, and the map names it"],
            id="a-fence-is-missing",
        ),
    ],
)
def test_what_is_left_to_do_is_told(view: TakeoverView, left: list[str]) -> None:
    assert list(left_to_do(view)) == left
