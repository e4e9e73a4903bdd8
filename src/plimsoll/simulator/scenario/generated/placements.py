"""Plots about places: pods that preempt others, keep apart or spread, while schedulers fail."""

from random import Random

from plimsoll.simulator.cluster.shape import ClusterShape
from plimsoll.simulator.scenario import actions, faults
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.generated.cluster import happens
from plimsoll.simulator.scenario.generated.plots import (
    LASTING,
    MOST_PODS,
    SMALL,
    Event,
    moment,
    shortly,
)
from plimsoll.simulator.scenario.placement_rules import CreateBudget, Level

FILLING_CPU = 14
"""Most of a small node, and a fifth of a large one."""
URGENT = 1000
LEADER = "leader of scheduler"
NEARBY: tuple[Level, ...] = ("host", "host", "zone")
EVENLY: tuple[Level, ...] = ("zone", "zone", "host")


def preempt(chance: Random, shape: ClusterShape) -> list[Event]:
    """Nodes are full when more important pods come. Pods that leave have volumes; in some scenarios
    a budget protects them, or they come again and wait."""
    begun = round(chance.uniform(0.0, LASTING * 0.4), 3)
    room = sum(int(node.cpu) // FILLING_CPU for node in shape.nodes)
    pods, class_name = min(room + 1, MOST_PODS), chance.choice(("local", "local", "zonal"))
    cpu = str(FILLING_CPU)
    filler: Event = (
        actions.CreateStatefulSet(
            at=begun, name="filler", replicas=pods, class_name=class_name, size=SMALL, cpu=cpu
        )
        if happens(chance, 0.6)
        else actions.CreatePods(
            at=begun, name="filler", pods=pods, class_name=class_name, size=SMALL, cpu=cpu
        )
    )
    asked = round(begun + chance.uniform(40.0, 120.0), 3)
    urgent = actions.CreatePods(
        at=asked,
        name="urgent",
        pods=chance.randint(1, 3),
        class_name=chance.choice(("zonal", "local", "now", "now")),
        size=SMALL,
        cpu=cpu,
        priority=URGENT,
    )
    made: list[Event] = [filler, urgent]
    if happens(chance, 0.5):
        unavailable = chance.randint(0, 2)
        made.append(CreateBudget(at=begun, name="filler", max_unavailable=unavailable))
    if happens(chance, 0.4):
        made.append(actions.DeletePods(at=moment(chance, asked + 60.0), name="urgent"))
    return [*made, *_troubles(chance, asked)]


def keep_apart(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Pods that tolerate none of their kind nearby, all at once; some are replaced."""
    begun = round(chance.uniform(0.0, LASTING * 0.6), 3)
    apart = actions.CreateStatefulSet(
        at=begun,
        name="apart",
        replicas=chance.randint(2, 5),
        class_name=chance.choice(("zonal", "local", "now")),
        size=SMALL,
        apart=chance.choice(NEARBY),
    )
    made: list[Event] = [apart]
    if happens(chance, 0.4):
        made.append(actions.Roll(at=shortly(chance, begun + 30.0, 90.0), name="apart"))
    return [*made, *_troubles(chance, begun)]


def spread_evenly(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Zones get as many pods each; mostly one pod after the other."""
    begun = round(chance.uniform(0.0, LASTING * 0.5), 3)
    even = actions.CreateStatefulSet(
        at=begun,
        name="even",
        replicas=chance.randint(3, 6),
        class_name=chance.choice(("zonal", "local")),
        size=SMALL,
        parallel=happens(chance, 0.25),
        spread=chance.choice(EVENLY),
    )
    return [even, *_troubles(chance, begun)]


def _troubles(chance: Random, moment: float) -> list[Event]:
    return [_trouble(chance, moment)] if happens(chance, 0.8) else []


def _trouble(chance: Random, moment: float) -> AnyFault:
    at = round(moment + chance.uniform(0.0, 2.0), 3)
    trouble: tuple[AnyFault, ...] = (
        faults.Cut(at=at, what=LEADER, lasting=3.0, after_writes=chance.randint(1, 6)),
        faults.Cut(at=at, what=LEADER, lasting=60.0, after_writes=chance.randint(1, 6)),
        faults.Pause(at=at, what=LEADER, lasting=60.0, before_writes=chance.randint(1, 6)),
        faults.DelayWatches(at=at, what="scheduler", resource="pods", by=20.0, rate=1.0),
        faults.LoseMessages(at=at, rate=0.3, lasting=15.0),
        faults.Conflicts(at=at, rate=0.4, lasting=15.0),
        faults.Cut(at=at, what="leader of controller", lasting=20.0),
        faults.StartSecondScheduler(at=at, lasting=60.0),
    )
    return chance.choice(trouble)
