"""Plots around what may not be taken back, or not be touched: data that was used, volumes that
another program has recorded, room that is taken, and claims that are held."""

from random import Random

from plimsoll.processes.driver.backends.pools.faults import FaultyCall, When
from plimsoll.simulator.cluster.driver_host import Question
from plimsoll.simulator.cluster.shape import ClusterShape
from plimsoll.simulator.scenario import actions, faults
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.generated.cluster import LOCAL, ZONAL, happens
from plimsoll.simulator.scenario.generated.groups import CLASSES, pair_of, refuses, two_drivers
from plimsoll.simulator.scenario.generated.plots import LASTING, MOST_PODS, SMALL, Event, shortly

SPARE = "spare"
"""The StatefulSet whose volumes may be taken back."""


def take_back_unused(chance: Random, shape: ClusterShape) -> list[Event]:
    """Volumes of a StatefulSet are in zones that take no pods any more. Some pods have used theirs
    before, others have not; meanwhile the controller is replaced, or misses something."""
    begun = round(chance.uniform(0.0, LASTING * 0.4), 3)
    foreign = [driver.name for driver in shape.drivers if driver.only_csi]
    driver = chance.choice(foreign if foreign and happens(chance, 0.8) else (ZONAL, LOCAL))
    replicas = chance.randint(2, 4)
    made: list[Event] = [
        actions.CreateStatefulSet(
            at=begun, name=SPARE, replicas=replicas, class_name=CLASSES[driver], size=SMALL
        )
    ]
    if happens(chance, 0.5):
        # They are recorded when their zone takes no pods any more.
        closed = round(begun + chance.uniform(1.0, 8.0), 3)
        slow = round(chance.uniform(3.0, 8.0), 3)
        made.append(faults.DriverHangs(at=begun, driver=driver, lasting=slow, times=replicas))
    else:
        closed = round(begun + chance.uniform(15.0, 40.0), 3)
    opened = round(closed + chance.uniform(110.0, 250.0), 3)
    zones = chance.sample(shape.zones, chance.randint(1, len(shape.zones) - 1))
    for node in shape.nodes:
        if node.zone in zones:
            made.append(actions.Drain(at=closed, node=node.name))
            made.append(actions.Uncordon(at=opened, node=node.name))
    made += _blind_controllers(chance, shape, closed)
    return made


def _blind_controllers(chance: Random, shape: ClusterShape, closed: float) -> list[Event]:
    """What one of them has seen does not count for the next one, nor after a gap."""
    at = round(closed + chance.uniform(5.0, 80.0) * chance.random(), 3)
    leader = "leader of controller" if shape.copies.controllers > 1 else "controller-0"
    writes = chance.randint(1, 20)
    gone = faults.Cut(at=at, what=leader, lasting=3.0)
    trouble: tuple[AnyFault, ...] = (
        gone,
        gone,
        faults.Cut(at=at, what=leader, lasting=3.0, after_writes=writes),
        faults.Pause(at=at, what=leader, lasting=60.0, before_writes=writes),
        faults.BreakWatches(
            at=at,
            what="controller",
            resource=chance.choice(("pods", "volumeattachments", "persistentvolumes", "")),
            expire=True,
            lasting=chance.choice((0.0, 10.0, 40.0)),
        ),
        faults.LoseMessages(at=at, rate=0.2, lasting=30.0),
    )
    return [chance.choice(trouble)] if happens(chance, 0.85) else []


def downgrade_for_long(chance: Random, shape: ClusterShape) -> list[Event]:
    """csi-provisioner records a volume that ours has begun to give back, because another volume of
    the pod is refused for long; ours comes back before any pod has used it."""
    begun = round(chance.uniform(0.0, LASTING * 0.4), 3)
    drivers, replicas = two_drivers(chance), chance.randint(1, 2)
    if drivers[0] in {driver.name for driver in shape.drivers if driver.only_csi}:
        # What such a driver made is never deleted after another program has led.
        drivers = (drivers[1], drivers[0])
    lasting = round(chance.uniform(80.0, 140.0), 3)
    at = round(begun + chance.uniform(5.0, 30.0), 3)
    slow = faults.DriverHangs(
        at=begun,
        driver=drivers[0],
        call=FaultyCall.CREATE if happens(chance, 0.8) else FaultyCall.DELETE,
        lasting=round(chance.uniform(9.0, 30.0), 3),  # provisioners wait ten seconds
        when=chance.choice(tuple(When)),
        times=2 * replicas,
    )
    return [
        pair_of(begun, "long", drivers, replicas),
        refuses(begun, drivers[1], 40),
        slow,
        faults.LeadByCsiProvisioner(at=at, driver=drivers[0], lasting=lasting),
    ]


def report_slowly(chance: Random, shape: ClusterShape) -> list[Event]:
    """Volumes are made while answers about capacity are under way, which do not tell of them; then
    pods come that need what is left."""
    begun = round(chance.uniform(0.0, LASTING * 0.8), 3)
    honest = [
        driver.name for driver in shape.drivers if driver.tracks_capacity and not driver.only_csi
    ]
    driver = LOCAL if LOCAL in honest else ZONAL
    pods = min(len(shape.nodes), MOST_PODS)
    questions = chance.choice(((Question.POOLS,), (Question.POOLS,), tuple(Question)))
    slow = round(chance.uniform(6.0, 9.5), 3)  # provisioners wait ten seconds
    later = round(begun + slow * chance.uniform(0.3, 0.8), 3)
    last = round(begun + slow + chance.uniform(0.5, 6.0), 3)
    waves = ((begun, "first", "1Gi"), (later, "second", "1Gi"), (last, "third", "2Gi"))
    return [
        *(
            faults.SlowAnswers(at=begun, driver=driver, call=question, by=slow, times=pods)
            for question in questions
        ),
        *(
            actions.CreatePods(at=at, name=name, pods=pods, class_name=CLASSES[driver], size=size)
            for at, name, size in waves
        ),
    ]


def lose_the_selected_node(chance: Random, shape: ClusterShape) -> list[Event]:
    """The Node object that is selected for claims goes while they are held and no scheduler is
    there; what the rule `selected-node` repairs is not theirs."""
    begun = round(chance.uniform(0.0, LASTING * 0.6), 3)
    drivers = two_drivers(chance)
    lasting = round(chance.uniform(80.0, 120.0), 3)
    at = round(begun + chance.uniform(1.0, 4.0), 3)
    cuts = [
        faults.Cut(at=at, what=f"scheduler-{number}", lasting=lasting)
        for number in range(shape.copies.schedulers)
    ]
    # Nodes that were deleted come back when their process starts again.
    back = round(at + lasting + 10.0, 3)
    return [
        pair_of(begun, "alone", drivers, chance.randint(1, 2)),
        faults.DriverHangs(at=begun, driver=drivers[0], lasting=60.0, times=20),
        *cuts,
        actions.DeleteSelectedNodes(at=shortly(chance, at + 0.5, 5.0), name="alone"),
        *(faults.Cut(at=back, what=f"nodes {rack}", lasting=2.0) for rack in shape.racks),
    ]
