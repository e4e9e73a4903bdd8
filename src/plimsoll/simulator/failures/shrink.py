"""Makes a failing scenario short, so that people can read it.

First times become shorter, every process has one copy, and half of the nodes and pods go: all later
runs are quicker then. Next as many actions and faults as possible are left out (delta debugging:
halves, then quarters, then single ones). Then single nodes and drivers go. Every step is tried on a
run; only a scenario that still fails is kept.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from plimsoll.simulator.cluster.shape import ClusterShape, Copies, SimulatedDriver
from plimsoll.simulator.scenario.actions import AnyAction, CreatePods, CreateStatefulSet
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.scenario import Scenario

FindFailing = Callable[[Iterable[Scenario]], Scenario | None]
"""The first of these whose run shows the failure that is looked for; it may play several at once.
Each that it takes is played."""
Event = AnyAction | AnyFault
Change = Callable[[Scenario], Scenario | None]
"""A smaller scenario; None: this one cannot be made smaller in that way."""

AFTER_THE_LAST_SECONDS = 30.0
LEAST_SETTLING_SECONDS = 120.0


@dataclass(slots=True)
class Shrinking:
    """The smallest scenario so far that fails, and the runs that are left to find a smaller one."""

    smallest: Scenario
    find_failing: FindFailing
    runs_left: int
    is_over: Callable[[], bool] = lambda: False
    """Asked before each run: whether the time for it is over."""
    runs: int = 0

    def try_out(self, candidates: Iterable[Scenario | None]) -> bool:
        """Whether one of them fails too; it is the smallest one then."""
        found = self.find_failing(self._within_limits(candidates))
        if found is None:
            return False
        self.smallest = found
        return True

    def _within_limits(self, candidates: Iterable[Scenario | None]) -> Iterator[Scenario]:
        for candidate in candidates:
            if candidate is None or candidate == self.smallest:
                continue
            if not self.runs_left or self.is_over():
                self.runs_left = 0
                return
            self.runs_left -= 1
            self.runs += 1
            yield candidate

    def leave_out_events(self) -> None:
        parts = 2
        while (events := events_of(self.smallest)) and self.runs_left:
            smaller = _without_one_part(events, parts)
            if self.try_out(with_events(self.smallest, kept) for kept in smaller):
                parts = max(parts - 1, 2)
            elif parts >= len(events):
                return
            else:
                parts = min(parts * 2, len(events))

    def change(self, change: Change) -> None:
        """Again and again, as long as it still fails."""
        while self.try_out([change(self.smallest)]):
            pass


def shrink(shrinking: Shrinking) -> Scenario:
    """The scenario that it begins with is known to fail."""
    quicker: tuple[Change, ...] = (settle_earlier, end_earlier, one_copy, fewer_nodes, fewer_pods)
    if not shrinking.try_out([_all_at_once(shrinking.smallest, quicker)]):
        for change in quicker:
            shrinking.try_out([change(shrinking.smallest)])
    shrinking.leave_out_events()
    for change in (*quicker, *_without_nodes(shrinking.smallest), without_idle_drivers):
        shrinking.change(change)
    return shrinking.smallest


def _all_at_once(scenario: Scenario, changes: Iterable[Change]) -> Scenario:
    for change in changes:
        scenario = change(scenario) or scenario
    return scenario


def events_of(scenario: Scenario) -> list[Event]:
    return [*scenario.actions, *scenario.faults]


def with_events(scenario: Scenario, kept: list[Event]) -> Scenario:
    return msgspec.structs.replace(
        scenario,
        actions=tuple(each for each in kept if isinstance(each, AnyAction)),
        faults=tuple(each for each in kept if isinstance(each, AnyFault)),
    )


def _without_one_part(events: list[Event], parts: int) -> Iterator[list[Event]]:
    """All but one of so many parts of nearly equal size; the last part is left out first.

    What happened late is less often the cause.
    """
    bounds = [len(events) * number // parts for number in range(parts + 1)]
    for number in reversed(range(parts)):
        yield events[: bounds[number]] + events[bounds[number + 1] :]


def end_earlier(scenario: Scenario) -> Scenario | None:
    last = max((each.at for each in events_of(scenario)), default=0.0)
    lasting = last + AFTER_THE_LAST_SECONDS
    return msgspec.structs.replace(scenario, lasting=min(lasting, scenario.lasting))


def settle_earlier(scenario: Scenario) -> Scenario | None:
    settling = min(LEAST_SETTLING_SECONDS, scenario.settling)
    return msgspec.structs.replace(scenario, settling=settling)


def one_copy(scenario: Scenario) -> Scenario | None:
    """Of every process; then none of them loses an election."""
    one = Copies(schedulers=1, controllers=1, provisioners=1)
    return _with_cluster(scenario, replace(scenario.cluster, copies=one))


def fewer_pods(scenario: Scenario) -> Scenario | None:
    return msgspec.structs.replace(
        scenario, actions=tuple(_half_as_many(each) for each in scenario.actions)
    )


def _half_as_many(action: AnyAction) -> AnyAction:
    if isinstance(action, CreatePods):
        return msgspec.structs.replace(action, pods=max(action.pods // 2, 1))
    if isinstance(action, CreateStatefulSet):
        return msgspec.structs.replace(action, replicas=max(action.replicas // 2, 1))
    return action


def fewer_nodes(scenario: Scenario) -> Scenario | None:
    """Half of those that may go."""
    smaller = scenario
    for node in scenario.cluster.nodes[::2]:
        smaller = without_node(smaller, name=node.name) or smaller
    return smaller


def _without_nodes(scenario: Scenario) -> list[Change]:
    return [partial(without_node, name=node.name) for node in scenario.cluster.nodes]


def without_node(scenario: Scenario, *, name: str) -> Scenario | None:
    """With the pools that only this node reaches left out. One node stays, and all that events
    name."""
    shape = scenario.cluster
    nodes = tuple(node for node in shape.nodes if node.name != name)
    if not nodes or len(nodes) == len(shape.nodes):
        return None
    left = replace(shape, nodes=nodes)
    drivers = tuple(_reachable(driver, left) for driver in shape.drivers)
    named = msgspec.json.encode(events_of(scenario)).decode()
    gone = {name, *(set(shape.zones) - set(left.zones)), *(set(shape.racks) - set(left.racks))}
    if not all(driver.pools for driver in drivers) or any(_is_named(each, named) for each in gone):
        return None
    return _with_cluster(scenario, replace(left, drivers=drivers))


def without_idle_drivers(scenario: Scenario) -> Scenario | None:
    """Those that neither events nor the classes of their claims name, with their classes; not the
    one whose zones are taken over."""
    shape, events = scenario.cluster, msgspec.json.encode(events_of(scenario)).decode()
    used = {class_.driver for class_ in shape.classes if _is_named(class_.name, events)}
    used |= {shape.takeover}
    drivers = tuple(d for d in shape.drivers if d.name in used or d.name in events)
    if not drivers:
        drivers = shape.drivers[:1]
    names = {driver.name for driver in drivers}
    classes = tuple(class_ for class_ in shape.classes if class_.driver in names)
    return _with_cluster(scenario, replace(shape, drivers=drivers, classes=classes))


def _is_named(name: str, events: str) -> bool:
    """Also in the name of a process, such as that of a provisioner that serves one node."""
    return any(f'{before}{name}"' in events for before in ('"', " ", "-"))


def _reachable(driver: SimulatedDriver, shape: ClusterShape) -> SimulatedDriver:
    """With the pools alone that some node reaches."""
    pools = tuple(
        pool
        for pool in driver.pools
        if any(_is_within(node.topology, pool.get("topology")) for node in shape.nodes)
    )
    return replace(driver, pools=pools)


def _is_within(told: dict[str, str], topology: object) -> bool:
    """Of a pool without a topology, or with several, is not judged."""
    if not isinstance(topology, dict):
        return True
    return all(told.get(key) == value for key, value in topology.items())


def _with_cluster(scenario: Scenario, cluster: ClusterShape) -> Scenario:
    return msgspec.structs.replace(scenario, cluster=cluster)
