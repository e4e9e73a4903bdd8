"""Scenarios from seeds: another small cluster, other workloads and other faults for each.

Everything is drawn before the run, so that a scenario can be printed, replayed and made shorter.
Most actions and faults are drawn by themselves. Some come as a plot: a few of them together, close
in time, which would hardly meet by chance, such as watches that break while objects are deleted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import msgspec

from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, When
from plimsoll.simulator.cluster.shape import ClusterShape
from plimsoll.simulator.scenario import actions, faults
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.generated.cluster import (
    LOCAL,
    ZONAL,
    generated_cluster,
    happens,
    with_disks_of_nodes,
    with_other_drivers,
)
from plimsoll.simulator.scenario.generated.disks_of_nodes import lose_provisioners_at_work
from plimsoll.simulator.scenario.generated.groups import (
    answer_too_late,
    delete_late,
    downgrade,
    make_together,
    send_after_the_lease,
    stop_at_the_commit_point,
)
from plimsoll.simulator.scenario.generated.placements import keep_apart, preempt, spread_evenly
from plimsoll.simulator.scenario.generated.plots import (
    INSIDE,
    LASTING,
    Event,
    break_watches_while_objects_go,
    change_nodes_while_volumes_are_made,
    compete_for_volumes,
    copy_and_grow,
    crowd,
    interrupt_bindings,
    moment,
    provision_inside,
    recreate_quickly,
)
from plimsoll.simulator.scenario.generated.rollbacks import (
    SPARE,
    downgrade_for_long,
    lose_the_selected_node,
    report_slowly,
    take_back_unused,
)
from plimsoll.simulator.scenario.generated.takeovers import (
    lose_a_zone_for_long,
    take_over_a_zone,
    with_takeovers,
)
from plimsoll.simulator.scenario.scenario import Scenario

Plot = Callable[[Random, ClusterShape], list[Event]]
PLOTS: tuple[tuple[Plot, float], ...] = (
    (compete_for_volumes, 0.4),
    (recreate_quickly, 0.3),
    (break_watches_while_objects_go, 0.25),
    (change_nodes_while_volumes_are_made, 0.25),
    (copy_and_grow, 0.3),
    (crowd, 0.7),
    (interrupt_bindings, 0.3),
    (provision_inside, 0.25),
    (make_together, 0.5),
)
"""Each with the share of scenarios that have it."""
LATER_PLOTS: tuple[tuple[Plot, float], ...] = (
    (delete_late, 0.25),
    (answer_too_late, 0.25),
    (stop_at_the_commit_point, 0.3),
    (downgrade, 0.2),
    (send_after_the_lease, 0.2),
)
"""Drawn by a chance of their own: what a seed had before there were these, it still has."""
LATEST_PLOTS: tuple[tuple[Plot, float], ...] = (
    (take_back_unused, 0.2),
    (downgrade_for_long, 0.1),
    (report_slowly, 0.15),
    (lose_the_selected_node, 0.1),
)
"""By another chance, for the same reason."""
TAKEOVER_PLOTS: tuple[tuple[Plot, float], ...] = (
    (take_over_a_zone, 0.25),
    (lose_a_zone_for_long, 0.1),
)
"""One of them at most: both would write the same map."""
PLACEMENT_PLOTS: tuple[tuple[Plot, float], ...] = (
    (preempt, 0.25),
    (keep_apart, 0.2),
    (spread_evenly, 0.2),
)
"""By a chance of their own, as those before."""
SETTLING, SETTLING_AFTER_SECOND_SCHEDULER = 600.0, 900.0
"""Seconds at most, once faults have ended."""


def generate(seed: int) -> Scenario:
    chance = Random(f"scenario {seed}")  # noqa: S311 - chance of a simulation
    shape = generated_cluster(chance)
    events: list[Event] = [*_actions(chance, shape), *_faults(chance, shape)]
    for plot, share in PLOTS:
        if happens(chance, share):
            events += plot(chance, shape)
    more = Random(f"more of scenario {seed}")  # noqa: S311 - chance of a simulation
    shape = with_other_drivers(more, shape)
    events += _later_faults(more, shape)
    for plot, share in LATER_PLOTS:
        if happens(more, share):
            events += plot(more, shape)
    latest = Random(f"rest of scenario {seed}")  # noqa: S311 - chance of a simulation
    for plot, share in LATEST_PLOTS:
        if happens(latest, share):
            events += plot(latest, shape)
    events += _takeover(Random(f"takeovers of scenario {seed}"), shape)  # noqa: S311 - chance of a simulation
    places = Random(f"places of scenario {seed}")  # noqa: S311 - chance of a simulation
    for plot, share in PLACEMENT_PLOTS:
        if happens(places, share):
            events += plot(places, shape)
    alone = Random(f"node deployment of scenario {seed}")  # noqa: S311 - chance of a simulation
    shape = with_disks_of_nodes(alone, shape)
    if any(driver.on_each_node for driver in shape.drivers) and happens(alone, 0.5):
        events += lose_provisioners_at_work(alone, shape)
    shape = with_takeovers(fitted(shape, events), events)
    events = [fitting for each in events if (fitting := as_on_each_node(each, shape)) is not None]
    events.sort(key=lambda each: each.at)
    return Scenario(
        seed=seed,
        cluster=shape,
        actions=tuple(each for each in events if isinstance(each, AnyAction)),
        faults=tuple(each for each in events if isinstance(each, AnyFault)),
        lasting=LASTING,
        settling=_settling(events),
    )


def _settling(events: Sequence[Event]) -> float:
    """A scheduler that shares its pods without an election, and ends, leaves groups behind. Others
    settle them when their deadline of ten minutes is over, and look for them every two minutes."""
    leaves_groups = any(isinstance(each, faults.StartSecondScheduler) for each in events)
    return SETTLING_AFTER_SECOND_SCHEDULER if leaves_groups else SETTLING


def _takeover(chance: Random, shape: ClusterShape) -> list[Event]:
    for plot, share in TAKEOVER_PLOTS:
        if happens(chance, share):
            return plot(chance, shape)
    return []


def fitted(shape: ClusterShape, events: list[Event]) -> ClusterShape:
    """With what only clusters have in which this happens."""
    if any(getattr(each, "class_name", "") == INSIDE.name for each in events):
        shape = replace(shape, classes=(*shape.classes, INSIDE))
    if any(getattr(each, "name", "") == SPARE for each in events):
        shape = replace(shape, rolls_back=True)
    if any(isinstance(each, actions.DeleteSelectedNodes) for each in events):
        shape = replace(shape, repairs=(RepairRule.SELECTED_NODE.value,))
    return shape


def as_on_each_node(event: Event, shape: ClusterShape) -> Event | None:
    """The same where a driver has a provisioner on each node: any of them in place of the one that
    leads. csi-provisioner has no place there: without an election no program notes that another
    has led, which is tried where there is one provisioner."""
    for driver in shape.drivers:
        if not driver.on_each_node:
            continue
        if isinstance(event, faults.LeadByCsiProvisioner) and event.driver == driver.name:
            return None
        one = f"provisioner-{driver.name}-0"
        leader = f"leader of provisioner-{driver.name}"
        if isinstance(event, faults.Cut | faults.Pause) and event.what in (one, leader):
            return msgspec.structs.replace(event, what=f"provisioner-{driver.name}-*")
    return event


def _actions(chance: Random, shape: ClusterShape) -> list[AnyAction]:
    made: list[AnyAction] = []
    for number in range(chance.randint(1, 3)):
        made += _stateful_set(chance, f"set{number}")
    for number in range(chance.randint(0, 2)):
        made += _burst(chance, f"burst{number}")
    if happens(chance, 0.4):
        at = moment(chance)
        made.append(actions.CreateJob(at=at, name="job", pods=chance.randint(1, 3)))
    if happens(chance, 0.4):
        begun = moment(chance)
        made.append(actions.CreateClaim(at=begun, name="now", class_name="now"))
        if happens(chance, 0.5):
            made.append(actions.DeleteClaim(at=moment(chance, begun), name="now"))
    if happens(chance, 0.3):
        node, begun = chance.choice(shape.nodes).name, moment(chance)
        made.append(actions.Drain(at=begun, node=node))
        made.append(actions.Uncordon(at=moment(chance, begun), node=node))
    return made


def _stateful_set(chance: Random, name: str) -> list[AnyAction]:
    begun, replicas = round(moment(chance) / 2, 3), chance.randint(1, 4)
    created = actions.CreateStatefulSet(
        at=begun,
        name=name,
        replicas=replicas,
        class_name=chance.choice(("zonal", "local")),
        size=chance.choice(("512Mi", "1Gi", "2Gi")),
        claims=chance.choice((1, 1, 2)),
        parallel=happens(chance, 0.5),
        cpu=_cpu(chance),
    )
    made: list[AnyAction] = [created]
    for _ in range(chance.randint(0, 3)):
        at = moment(chance, begun)
        scaled = actions.ScaleStatefulSet(at=at, name=name, replicas=chance.randint(0, 5))
        pod = f"{name}-{chance.randrange(replicas)}"
        with_claims = happens(chance, 0.5)
        gone = actions.DeleteStatefulSet(at=at, name=name, with_claims=with_claims)
        choices = (scaled, actions.Roll(at=at, name=name), actions.DeletePod(at=at, name=pod), gone)
        made.append(chance.choice(choices))
    return made


def _burst(chance: Random, name: str) -> list[AnyAction]:
    begun = moment(chance)
    created = actions.CreatePods(
        at=begun,
        name=name,
        pods=chance.randint(2, 8),
        class_name=chance.choice(("zonal", "local", "now")),
        cpu=_cpu(chance),
    )
    if not happens(chance, 0.6):
        return [created]
    return [created, actions.DeletePods(at=moment(chance, begun), name=name)]


def _cpu(chance: Random) -> str:
    """Pods that take a good part of a node tell small nodes and large ones apart."""
    return chance.choice(("100m", "100m", "1", "2"))


PROCESSES = ("scheduler-*", "controller-*", "provisioner-*", "nodes*", "driver*", "apiserver")
LEADERS = ("leader of scheduler", "leader of controller", "leader of provisioner-zonal.sim")


def _faults(chance: Random, shape: ClusterShape) -> list[AnyFault]:
    return [_fault(chance, shape) for _ in range(chance.randint(2, 10))]


def _fault(chance: Random, shape: ClusterShape) -> AnyFault:
    at = round(chance.uniform(0.0, LASTING * 0.9), 3)
    what = chance.choice(PROCESSES + LEADERS)
    driver = chance.choice((ZONAL, LOCAL))
    lasting = round(chance.choice((1.0, 5.0, 20.0, 60.0)) * chance.uniform(0.5, 1.5), 3)
    kinds = (
        lambda: faults.Cut(at=at, what=what, lasting=lasting),
        lambda: faults.Cut(
            at=at, what=what, lasting=lasting, after_writes=chance.choice((1, 1, 2, 3, 5, 8))
        ),
        lambda: faults.Cut(
            at=at, what=what, lasting=lasting, after_writes=chance.choice((1, 1, 2, 3, 5, 8))
        ),
        lambda: faults.Pause(at=at, what=what, lasting=lasting),
        lambda: faults.Pause(
            at=at, what=chance.choice(LEADERS), lasting=lasting + shape.pace.lease_duration
        ),
        lambda: faults.LoseZone(
            at=at,
            zone=chance.choice(shape.zones),
            lasting=lasting + chance.choice((0.0, shape.pace.node_grace)),
        ),
        lambda: faults.LoseMessages(at=at, rate=chance.choice((0.02, 0.2)), lasting=lasting),
        lambda: faults.Conflicts(at=at, rate=chance.choice((0.05, 0.3)), lasting=lasting),
        lambda: faults.BreakWatches(at=at, expire=happens(chance, 0.5)),
        lambda: faults.DelayWatches(at=at, what=what.rstrip("*"), by=lasting),
        lambda: faults.DriverFails(
            at=at,
            driver=driver,
            call=chance.choice(tuple(FaultyCall)),
            code=chance.choice(("RESOURCE_EXHAUSTED", "INTERNAL", "UNAVAILABLE", "ABORTED")),
            when=chance.choice(tuple(When)),
            times=chance.randint(1, 4),
        ),
        lambda: faults.DriverHangs(
            at=at,
            driver=driver,
            call=chance.choice(tuple(FaultyCall)),
            lasting=lasting,
            when=chance.choice(tuple(When)),
        ),
        lambda: faults.DriverLies(at=at, driver=driver, lasting=lasting * 2),
        lambda: faults.SkewClock(at=at, what=what, ahead=chance.choice((-60.0, -5.0, 5.0, 60.0))),
        lambda: faults.FillDisk(at=at, lasting=min(lasting, 20.0)),
        lambda: faults.StartSecondScheduler(at=at, lasting=lasting * 2),
    )
    return chance.choice(kinds)()


def _later_faults(chance: Random, shape: ClusterShape) -> list[AnyFault]:
    """Messages that take effect when their sender has long given up, or should have.

    Only deletions are that late. A driver that refuses a volume, and makes it afterwards for a call
    that was on its way before, has no answer that a provisioner could believe.
    """
    made: list[AnyFault] = []
    if happens(chance, 0.3):
        late = faults.LateCalls(
            at=round(chance.uniform(0.0, LASTING * 0.9), 3),
            driver=chance.choice((ZONAL, LOCAL)),
            by=round(chance.uniform(11.0, 60.0), 3),
        )
        made.append(late)
    if happens(chance, 0.3):
        stopped = faults.Pause(
            at=round(chance.uniform(0.0, LASTING * 0.8), 3),
            what=chance.choice(LEADERS),
            lasting=round(shape.pace.lease_duration * chance.uniform(0.5, 2.0), 3),
            before_writes=chance.choice((1, 1, 2, 3, 5, 8)),
        )
        made.append(stopped)
    return made
