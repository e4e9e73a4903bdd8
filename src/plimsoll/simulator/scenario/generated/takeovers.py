"""Plots in which a zone is lost, taken over and given back, while its controllers have troubles."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from plimsoll.api.registry import Document
from plimsoll.simulator.cluster.shape import ClusterShape, SimulatedClass, SimulatedDriver
from plimsoll.simulator.scenario import actions, faults
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.generated.cluster import ZONAL, happens
from plimsoll.simulator.scenario.generated.plots import LASTING, SMALL, Event, shortly
from plimsoll.simulator.scenario.takeover_maps import SetTakeoverMap

SERVED = SimulatedClass(name="served", driver=ZONAL, parameters={"reach": "ServedDomain"})
"""A class that only clusters with takeovers have."""
SERVED_SET, AUTO_SET = "served", "auto-served"
"""The StatefulSet whose volumes are taken over: by an administrator, or by the controller."""
LEADER = "leader of controller"


def take_over_a_zone(chance: Random, shape: ClusterShape) -> list[Event]:
    """An administrator gives a lost zone to others, and gives it back when it is there again, or
    too early. In most scenarios the controller is replaced in between, or misses something."""
    zone = chance.choice(shape.zones)
    others = [each for each in shape.zones if each != zone]
    begun = round(chance.uniform(0.0, 60.0), 3)
    lost = round(begun + chance.uniform(30.0, 90.0), 3)
    back = round(lost + chance.uniform(160.0, 250.0), 3)
    taken = shortly(chance, lost, 120.0)
    given = round(chance.uniform(max(back - 60.0, taken), min(back + 60.0, LASTING - 60.0)), 3)
    targets = chance.choice((("all",), (chance.choice(others),)))
    made: list[Event] = [
        _served_set(chance, SERVED_SET, begun),
        faults.LoseZone(at=lost, zone=zone, lasting=round(back - lost, 3)),
        SetTakeoverMap(at=taken, takeover={zone: targets}),
        SetTakeoverMap(at=given),
        *_out_of_service(chance, zone, lost, back),
        *_moved_back(chance, given),
    ]
    return [*made, *_troubles(chance, (taken, given))]


def lose_a_zone_for_long(chance: Random, shape: ClusterShape) -> list[Event]:
    """The controller itself writes the map."""
    zone = chance.choice(shape.zones)
    begun = round(chance.uniform(0.0, 30.0), 3)
    lost = round(begun + chance.uniform(20.0, 40.0), 3)
    lasting = round(chance.uniform(220.0, 330.0), 3)
    made: list[Event] = [
        _served_set(chance, AUTO_SET, begun),
        faults.LoseZone(at=lost, zone=zone, lasting=lasting),
        *_out_of_service(chance, zone, lost, lost + lasting),
    ]
    return [*made, *_troubles(chance, (lost + 200.0, lost + lasting))]


def _served_set(chance: Random, name: str, at: float) -> Event:
    return actions.CreateStatefulSet(
        at=at,
        name=name,
        replicas=chance.randint(2, 5),
        class_name=SERVED.name,
        size=SMALL,
        parallel=happens(chance, 0.7),
    )


def _out_of_service(chance: Random, zone: str, lost: float, back: float) -> list[Event]:
    if not happens(chance, 0.7):
        return []
    return [
        actions.TakeOutOfService(at=shortly(chance, lost, 100.0), zone=zone),
        actions.PutIntoService(at=shortly(chance, back, 20.0), zone=zone),
    ]


def _moved_back(chance: Random, given: float) -> list[Event]:
    """What the giveback waits for: pods that leave, one by one or all of them."""
    at = shortly(chance, given + 10.0, 40.0)
    if happens(chance, 0.4):
        away = actions.ScaleStatefulSet(at=at, name=SERVED_SET, replicas=0)
        again = shortly(chance, at + 20.0, 30.0)
        return [away, actions.ScaleStatefulSet(at=again, name=SERVED_SET, replicas=3)]
    if happens(chance, 0.5):
        return [actions.Roll(at=at, name=SERVED_SET)]
    return []


def _troubles(chance: Random, moments: Iterable[float]) -> list[Event]:
    return [_trouble(chance, moment) for moment in moments if happens(chance, 0.7)]


def _trouble(chance: Random, moment: float) -> AnyFault:
    at = round(max(moment - chance.uniform(0.0, 5.0), 0.0), 3)
    lasting = chance.choice((3.0, 20.0, 60.0))
    trouble: tuple[AnyFault, ...] = (
        faults.Cut(at=at, what=LEADER, lasting=lasting, after_writes=chance.randint(1, 8)),
        faults.Cut(at=at, what=LEADER, lasting=lasting, after_writes=chance.randint(1, 8)),
        faults.Cut(
            at=at,
            what=LEADER,
            lasting=lasting,
            after_writes=chance.randint(1, 3),
            resource="nodes",
        ),
        faults.Pause(at=at, what=LEADER, lasting=60.0, before_writes=chance.randint(1, 6)),
        faults.Cut(at=at, what=f"driver {ZONAL}", lasting=lasting),
        faults.DelayWatches(at=at, what="controller", by=20.0, rate=1.0),
        faults.DelayWatches(at=at, what="scheduler", resource="nodes", by=20.0, rate=1.0),
        faults.Conflicts(at=at, rate=0.4, lasting=20.0),
        faults.LoseMessages(at=at, rate=0.3, lasting=20.0),
    )
    return chance.choice(trouble)


def with_takeovers(shape: ClusterShape, events: list[Event]) -> ClusterShape:
    """With what only clusters have in which zones are taken over."""
    names = {getattr(each, "name", "") for each in events}
    if not names & {SERVED_SET, AUTO_SET}:
        return shape
    drivers = tuple(_spread(each, shape) if each.name == ZONAL else each for each in shape.drivers)
    return replace(
        shape,
        drivers=drivers,
        classes=(*shape.classes, SERVED),
        takeover=ZONAL,
        takes_over_by_itself=AUTO_SET in names,
    )


def _spread(driver: SimulatedDriver, shape: ClusterShape) -> SimulatedDriver:
    """Each pool has a copy in another zone, and needs no more."""
    return replace(driver, pools=tuple(_spread_pool(pool, shape.zones) for pool in driver.pools))


def _spread_pool(pool: Document, zones: tuple[str, ...]) -> Document:
    zone = pool["topology"]["zone"]
    other = zones[(zones.index(zone) + 1) % len(zones)]
    return {**pool, "copies": [{"zone": zone}, {"zone": zone}, {"zone": other}], "minCopies": 1}
