"""Scenarios from seeds: another small cluster, other workloads and other faults for each.

Everything is drawn before the run, so that a scenario can be printed, replayed and made shorter.
"""

from random import Random

from plimsoll.processes.driver.backends.pools.faults import FaultyCall, When
from plimsoll.simulator.cluster.shape import (
    ClusterShape,
    Copies,
    SimulatedClass,
    SimulatedDriver,
    SimulatedNode,
)
from plimsoll.simulator.scenario import actions, faults
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.scenario import Scenario

ZONAL, LOCAL = "zonal.sim", "local.sim"
LASTING = 300.0


def generate(seed: int) -> Scenario:
    chance = Random(f"scenario {seed}")  # noqa: S311 - chance of a simulation
    shape = _shape(chance)
    return Scenario(
        seed=seed,
        cluster=shape,
        actions=tuple(sorted(_actions(chance, shape), key=lambda each: each.at)),
        faults=tuple(sorted(_faults(chance, shape), key=lambda each: each.at)),
        lasting=LASTING,
    )


def happens(chance: Random, share: float) -> bool:
    """In that share of all scenarios."""
    return chance.random() < share


def _shape(chance: Random) -> ClusterShape:
    zones = "abc"[: chance.choice((2, 3, 3))]
    limit = chance.choice((0, 0, 3, 6))
    nodes: list[SimulatedNode] = []
    for zone in zones:
        for rack in range(chance.choice((1, 1, 2))):
            for number in range(chance.choice((1, 1, 2, 3))):
                name = f"node-{zone}{rack}{number}"
                rack_name = f"{zone}{rack}"
                nodes.append(SimulatedNode(name=name, zone=zone, rack=rack_name, max_volumes=limit))
    size = chance.choice(("4Gi", "8Gi", "20Gi"))
    zonal = SimulatedDriver(
        name=ZONAL,
        keys=("zone",),
        pools=tuple(
            {"name": f"pool-{zone}", "size": size, "topology": {"zone": zone}} for zone in zones
        ),
        strict_topology=happens(chance, 0.7),
        tracks_capacity=happens(chance, 0.7),
    )
    local = SimulatedDriver(
        name=LOCAL,
        keys=("host",),
        pools=tuple(
            {"name": f"disk-{node.name}", "size": "3Gi", "topology": {"host": node.name}}
            for node in nodes
        ),
    )
    classes = (
        SimulatedClass(name="zonal", driver=ZONAL),
        SimulatedClass(name="local", driver=LOCAL),
        SimulatedClass(name="now", driver=ZONAL, is_immediate=True),
    )
    return ClusterShape(
        nodes=tuple(nodes),
        drivers=(zonal, local),
        classes=classes,
        copies=Copies(schedulers=2, controllers=2, provisioners=2),
    )


def _actions(chance: Random, shape: ClusterShape) -> list[AnyAction]:
    made: list[AnyAction] = []

    def moment(after: float = 0.0) -> float:
        return round(chance.uniform(after, LASTING), 3)

    for number in range(chance.randint(1, 3)):
        name, begun = f"set{number}", moment() / 2
        replicas = chance.randint(1, 4)
        made.append(
            actions.CreateStatefulSet(
                at=begun,
                name=name,
                replicas=replicas,
                class_name=chance.choice(("zonal", "local")),
                size=chance.choice(("512Mi", "1Gi", "2Gi")),
                claims=chance.choice((1, 1, 2)),
                parallel=happens(chance, 0.5),
            )
        )
        for _ in range(chance.randint(0, 3)):
            at = moment(begun)
            made.append(
                chance.choice(
                    (
                        actions.ScaleStatefulSet(at=at, name=name, replicas=chance.randint(0, 5)),
                        actions.Roll(at=at, name=name),
                        actions.DeletePod(at=at, name=f"{name}-{chance.randrange(replicas)}"),
                        actions.DeleteStatefulSet(
                            at=at,
                            name=name,
                            with_claims=happens(chance, 0.5),
                        ),
                    )
                )
            )
    for number in range(chance.randint(0, 2)):
        name, begun = f"burst{number}", moment()
        made.append(
            actions.CreatePods(
                at=begun,
                name=name,
                pods=chance.randint(2, 8),
                class_name=chance.choice(("zonal", "local", "now")),
            )
        )
        if happens(chance, 0.6):
            made.append(actions.DeletePods(at=moment(begun), name=name))
    if happens(chance, 0.4):
        made.append(actions.CreateJob(at=moment(), name="job", pods=chance.randint(1, 3)))
    if happens(chance, 0.4):
        begun = moment()
        made.append(actions.CreateClaim(at=begun, name="now", class_name="now"))
        if happens(chance, 0.5):
            made.append(actions.DeleteClaim(at=moment(begun), name="now"))
    if happens(chance, 0.3):
        node, begun = chance.choice(shape.nodes).name, moment()
        made.append(actions.Drain(at=begun, node=node))
        made.append(actions.Uncordon(at=moment(begun), node=node))
    return made


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
        lambda: faults.Pause(at=at, what=chance.choice(LEADERS), lasting=lasting + 15.0),
        lambda: faults.LoseZone(at=at, zone=chance.choice(shape.zones), lasting=lasting * 3),
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
