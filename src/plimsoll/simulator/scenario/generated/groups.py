"""Plots around the volumes of pods with several claims: made together, held back, given back."""

from random import Random

from plimsoll.processes.driver.backends.pools.faults import FaultyCall, When
from plimsoll.simulator.cluster.shape import ClusterShape
from plimsoll.simulator.scenario import actions, faults
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.generated.cluster import LOCAL, ZONAL, happens
from plimsoll.simulator.scenario.generated.plots import LASTING, SMALL, Event, shortly

CLASSES = {ZONAL: "zonal", LOCAL: "local"}


def make_together(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Pods with claims of two drivers, one of which refuses, fails or hangs; in most scenarios the
    processes that make the volumes together do not live to see it."""
    begun = round(chance.uniform(0.0, LASTING * 0.7), 3)
    replicas = chance.randint(1, 4)
    made: list[Event] = [
        actions.CreateStatefulSet(
            at=begun,
            name="pair",
            replicas=replicas,
            class_name="zonal",
            also=chance.choice((("local",), ("local",), ("local", "zonal"))),
            size=chance.choice((SMALL, "1Gi", "2Gi")),
        )
    ]
    driver = chance.choice((ZONAL, LOCAL))
    when = chance.choice(tuple(When))
    if happens(chance, 0.6):
        made.append(
            faults.DriverFails(
                at=begun,
                driver=driver,
                code=chance.choice(("RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", "INTERNAL")),
                when=when,
                times=chance.randint(1, 2 * replicas),
            )
        )
    else:
        made.append(
            faults.DriverHangs(
                at=begun,
                driver=driver,
                call=chance.choice((FaultyCall.CREATE, FaultyCall.DELETE)),
                lasting=round(chance.uniform(2.0, 40.0), 3),
                when=when,
                times=replicas,
            )
        )
    made += _interrupted_together(chance, begun)
    ends: tuple[AnyAction, ...] = (
        actions.DeletePod(at=shortly(chance, begun, 8.0), name="pair-0"),
        actions.DeleteStatefulSet(at=shortly(chance, begun, 8.0), name="pair", with_claims=True),
        actions.ForgetSelectedNode(at=shortly(chance, begun, 8.0), name="pair"),
    )
    return [*made, chance.choice(ends)] if happens(chance, 0.5) else made


def _interrupted_together(chance: Random, begun: float) -> list[Event]:
    what = chance.choice(("scheduler-*", f"provisioner-{ZONAL}*", f"provisioner-{LOCAL}*"))
    leader = chance.choice(("leader of scheduler", "leader of provisioner-zonal.sim"))
    at = shortly(chance, begun, 3.0)
    trouble: tuple[AnyFault, ...] = (
        faults.Cut(at=at, what=what, lasting=3.0, after_writes=chance.randint(1, 12)),
        faults.Cut(at=at, what=what, lasting=3.0, after_writes=chance.randint(1, 12)),
        faults.Cut(at=at, what=what, lasting=60.0, after_writes=chance.randint(1, 12)),
        faults.Pause(at=at, what=leader, lasting=chance.choice((5.0, 45.0, 90.0))),
        faults.Conflicts(at=at, rate=0.3, lasting=15.0),
        faults.LoseMessages(at=at, rate=0.2, lasting=15.0),
        faults.DelayWatches(at=at, what="scheduler", resource="leases", by=20.0, rate=1.0),
    )
    return [chance.choice(trouble)] if happens(chance, 0.8) else []


def pair_of(at: float, name: str, drivers: tuple[str, str], replicas: int) -> Event:
    """Pods with a claim of each of the two drivers."""
    return actions.CreateStatefulSet(
        at=at,
        name=name,
        replicas=replicas,
        class_name=CLASSES[drivers[0]],
        also=(CLASSES[drivers[1]],),
        size=SMALL,
    )


def two_drivers(chance: Random) -> tuple[str, str]:
    """The one that makes its volume, and the one that refuses."""
    return chance.choice(((ZONAL, LOCAL), (LOCAL, ZONAL)))


def refuses(at: float, driver: str, times: int) -> AnyFault:
    return faults.DriverFails(at=at, driver=driver, code="RESOURCE_EXHAUSTED", times=times)


def delete_late(chance: Random, shape: ClusterShape) -> list[Event]:
    """Volumes are given back because another one of their pod is refused; the call that deletes
    them is carried out long after its time-out, when they have been made again."""
    begun = round(chance.uniform(0.0, LASTING * 0.8), 3)
    drivers, replicas = two_drivers(chance), chance.randint(1, 3)
    named = {driver.name for driver in shape.drivers if driver.ids_from_names}
    if drivers[0] not in named and drivers[1] in named:
        drivers = (drivers[1], drivers[0])
    # Without a controller no volume is attached, and none that is in use can be deleted.
    alone = shape.copies.controllers == 1
    unattached = faults.Cut(
        at=round(begun + chance.uniform(3.0, 9.0), 3),
        what="controller-0" if alone else "leader of controller",
        lasting=40.0,
    )
    return [
        *((unattached,) if happens(chance, 0.8) else ()),
        pair_of(begun, "late", drivers, replicas),
        refuses(begun, drivers[1], replicas),
        faults.LateCalls(
            at=begun,
            driver=drivers[0],
            by=round(chance.uniform(12.0, 30.0), 3),
            times=replicas,
        ),
    ]


def answer_too_late(chance: Random, shape: ClusterShape) -> list[Event]:
    """The provisioner of the volume that is made does not see that the other one is refused: it was
    cut off, or stands still, and what it has said of that attempt is still there at the next."""
    begun = round(chance.uniform(0.0, LASTING * 0.8), 3)
    drivers = two_drivers(chance)
    alone = shape.copies.provisioners == 1
    what = f"provisioner-{drivers[0]}-0" if alone else f"leader of provisioner-{drivers[0]}"
    lasting = round(chance.uniform(15.0, 60.0), 3)
    # The intent is stored, and says that the volume is made: two writes of its lease.
    made = faults.Cut(at=begun, what=what, lasting=lasting, after_writes=2, resource="leases")
    trouble: tuple[AnyFault, ...] = (
        made,
        made,
        faults.Cut(at=begun, what=what, lasting=lasting, after_writes=chance.randint(2, 4)),
        faults.Pause(at=begun, what=what, lasting=lasting, before_writes=chance.randint(3, 5)),
    )
    refused_late = faults.LateCalls(at=begun, driver=drivers[1], call=FaultyCall.CREATE, by=2.0)
    return [
        pair_of(begun + 0.5, "stale", drivers, 1),
        *((refused_late,) if happens(chance, 0.8) else ()),
        refuses(begun, drivers[1], 1),
        chance.choice(trouble),
    ]


def stop_at_the_commit_point(chance: Random, shape: ClusterShape) -> list[Event]:
    """The scheduler ends, or stands still, when all volumes of a pod are there and none, or not
    each of them, may be recorded."""
    begun = round(chance.uniform(0.0, LASTING * 0.8), 3)
    leader = "leader of scheduler" if shape.copies.schedulers > 1 else "scheduler-0"
    lasting = chance.choice((1.0, 5.0, 45.0))
    pod = actions.CreateStatefulSet(
        at=begun + 0.5,
        name="half",
        replicas=1,
        class_name="zonal",
        also=chance.choice((("local", "zonal"), ("local", "zonal"), ("local",))),
        size=SMALL,
    )
    trouble: tuple[AnyFault, ...] = (
        # The group is stored, and published: two writes of its lease.
        faults.Cut(at=begun, what=leader, lasting=lasting, after_writes=2, resource="leases"),
        faults.Cut(at=begun, what=leader, lasting=lasting, after_writes=2, resource="leases"),
        faults.Cut(
            at=begun,
            what=leader,
            lasting=lasting,
            after_writes=chance.randint(2, 6),
            resource="persistentvolumeclaims",
        ),
        faults.Pause(
            at=begun,
            what=leader,
            lasting=lasting,
            before_writes=chance.randint(3, 6),
            resource="persistentvolumeclaims",
        ),
    )
    made: list[Event] = [chance.choice(trouble), pod]
    if happens(chance, 0.3):
        at = shortly(chance, begun + 1.0, 3.0)
        made.append(actions.DeletePod(at=at, name="half-0"))
    return made


def downgrade(chance: Random, _shape: ClusterShape) -> list[Event]:
    """csi-provisioner leads for a time while volumes are made, held back or given back."""
    begun = round(chance.uniform(0.0, LASTING * 0.5), 3)
    drivers = two_drivers(chance)
    at = shortly(chance, begun, 4.0)
    made: list[Event] = [
        pair_of(begun, "down", drivers, chance.randint(1, 2)),
        faults.LeadByCsiProvisioner(
            at=at, driver=drivers[0], lasting=round(chance.uniform(60.0, 150.0), 3)
        ),
    ]
    if happens(chance, 0.6):
        made.append(refuses(begun, drivers[chance.randrange(2)], chance.randint(1, 3)))
    if happens(chance, 0.4):
        slow = chance.choice((FaultyCall.CREATE, FaultyCall.DELETE))
        hanging = faults.DriverHangs(at=begun, driver=drivers[0], call=slow, lasting=8.0, times=1)
        made.append(hanging)
    if happens(chance, 0.4):
        pods = actions.CreatePods(
            at=shortly(chance, begun, 60.0), name="under", pods=2, class_name=CLASSES[drivers[0]]
        )
        made.append(pods)
    if happens(chance, 0.3):
        gone = actions.DeleteStatefulSet(at=shortly(chance, at, 80.0), name="down")
        made.append(gone)
    return made


def send_after_the_lease(chance: Random, _shape: ClusterShape) -> list[Event]:
    """A leader stands still between the last look at its lease and the sending of a message, for
    longer than the lease lasts."""
    begun = round(chance.uniform(0.0, LASTING * 0.7), 3)
    drivers = two_drivers(chance)
    who = chance.choice(
        (f"provisioner-{drivers[0]}", f"provisioner-{drivers[0]}", "scheduler", "controller")
    )
    made: list[Event] = [
        faults.Pause(
            at=begun,
            what=f"leader of {who}",
            lasting=round(chance.uniform(60.0, 90.0), 3),
            before_writes=chance.randint(1, 8),
        ),
        pair_of(begun + 0.5, "slept", drivers, chance.randint(1, 3)),
    ]
    if happens(chance, 0.6):
        made.append(refuses(begun, drivers[chance.randrange(2)], chance.randint(1, 3)))
    if happens(chance, 0.5):
        at = shortly(chance, begun + 1.0, 20.0)
        made.append(actions.DeleteStatefulSet(at=at, name="slept", with_claims=True))
    return made
