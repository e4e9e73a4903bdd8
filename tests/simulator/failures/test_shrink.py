"""Which part of a scenario a failure needs is given here; the simulator finds it by runs."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from plimsoll.simulator.failures.shrink import (
    FindFailing,
    Shrinking,
    events_of,
    shrink,
    without_node,
)
from plimsoll.simulator.scenario.actions import CreatePods, DeletePods, Drain
from plimsoll.simulator.scenario.faults import Cut, LoseZone, Pause
from plimsoll.simulator.scenario.generate import generate
from plimsoll.simulator.scenario.scenario import Scenario

CAUSE = Cut(at=100.0, what="leader of scheduler")
BURST = CreatePods(at=90.0, name="burst", pods=8)


def a_scenario() -> Scenario:
    others = [Pause(at=float(at), what="controller-*") for at in range(10, 200, 20)]
    return msgspec.structs.replace(
        generate(1),
        actions=(BURST, DeletePods(at=150.0, name="burst")),
        faults=tuple(sorted([*others, CAUSE], key=lambda each: each.at)),
    )


def first(fails: Callable[[Scenario], bool]) -> FindFailing:
    return lambda candidates: next((each for each in candidates if fails(each)), None)


def shrunk(fails: Callable[[Scenario], bool], most_runs: int = 60) -> Scenario:
    return shrink(Shrinking(a_scenario(), first(fails), most_runs))


def needs_burst_and_cut(scenario: Scenario) -> bool:
    return CAUSE in scenario.faults and any(
        isinstance(each, CreatePods) for each in scenario.actions
    )


def test_only_the_events_that_the_failure_needs_are_left() -> None:
    found = shrunk(needs_burst_and_cut)

    assert found.faults == (CAUSE,)
    assert [type(each) for each in found.actions] == [CreatePods]


def test_the_cluster_and_its_times_shrink_too() -> None:
    found = shrunk(needs_burst_and_cut, most_runs=200)

    assert len(found.cluster.nodes) == 1
    assert found.cluster.copies.schedulers == 1
    assert found.lasting == 130.0
    assert found.actions == (msgspec.structs.replace(BURST, pods=1),)


def test_what_the_failure_needs_of_the_cluster_stays() -> None:
    def fails(scenario: Scenario) -> bool:
        return needs_burst_and_cut(scenario) and scenario.cluster.copies.schedulers == 2

    assert shrunk(fails).cluster.copies == a_scenario().cluster.copies


def test_a_shrunk_scenario_fails_and_no_more_runs_are_made_than_allowed() -> None:
    tried: list[Scenario] = []

    def fails(scenario: Scenario) -> bool:
        tried.append(scenario)
        return needs_burst_and_cut(scenario)

    shrinking = Shrinking(a_scenario(), first(fails), 5)

    assert needs_burst_and_cut(shrink(shrinking))
    assert (len(tried), shrinking.runs) == (5, 5)


def test_no_run_begins_once_the_time_is_over() -> None:
    runs: list[Scenario] = []

    def fails(scenario: Scenario) -> bool:
        runs.append(scenario)
        return needs_burst_and_cut(scenario)

    shrink(Shrinking(a_scenario(), first(fails), 60, is_over=lambda: len(runs) == 3))

    assert len(runs) == 3


def test_drivers_that_no_event_needs_go_with_their_classes() -> None:
    found = shrunk(needs_burst_and_cut, most_runs=200).cluster

    assert [driver.name for driver in found.drivers] == ["zonal.sim"]
    assert {class_.driver for class_ in found.classes} == {"zonal.sim"}


def test_a_failure_without_any_event_leaves_none() -> None:
    assert events_of(shrunk(lambda _: True)) == []


def test_nodes_and_zones_that_events_name_stay() -> None:
    scenario = a_scenario()
    first = scenario.cluster.nodes[0]
    lonely = replace(
        scenario.cluster,
        nodes=(first, *(n for n in scenario.cluster.nodes if n.zone != first.zone)),
    )
    named = msgspec.structs.replace(
        scenario, cluster=lonely, faults=(LoseZone(at=1.0, zone=first.zone),)
    )
    drained = msgspec.structs.replace(
        scenario, actions=(Drain(at=1.0, node=first.name),), faults=()
    )

    assert without_node(named, name=first.name) is None
    assert without_node(drained, name=first.name) is None


def test_pools_that_no_node_reaches_go_with_their_node() -> None:
    scenario = a_scenario()
    first = scenario.cluster.nodes[0].name

    smaller = without_node(scenario, name=first)

    assert smaller is not None
    assert not any(pool["name"] == f"disk-{first}" for pool in smaller.cluster.drivers[1].pools)


def test_a_node_whose_provisioner_a_fault_names_stays() -> None:
    whole = generate(1)
    node, other = [each.name for each in whole.cluster.nodes][:2]
    named = Cut(at=1.0, what=f"provisioner-local.sim-{node}")
    scenario = msgspec.structs.replace(whole, actions=(), faults=(named,))
    assert without_node(scenario, name=node) is None
    assert without_node(scenario, name=other) is not None
