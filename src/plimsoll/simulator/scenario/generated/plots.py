"""Plots: actions and faults that are drawn together, because they matter only together."""

from random import Random

from plimsoll.processes.driver.backends.pools.faults import FaultyCall, When
from plimsoll.simulator.cluster.shape import (
    IN_PROCESS,
    SECOND_SCHEDULER,
    ClusterShape,
    SimulatedClass,
)
from plimsoll.simulator.scenario import actions, copied_volumes, faults, static_volumes
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.generated.cluster import LOCAL, ZONAL, happens

LASTING = 560.0
INSIDE = SimulatedClass(name="inside", driver=IN_PROCESS)
"""A class that only clusters with claims of it have."""
SMALL = "128Mi"
"""Of volumes that are not to be refused for lack of room."""
FEW_VOLUMES = 3
MOST_PODS = 16
Event = AnyAction | AnyFault


def moment(chance: Random, after: float = 0.0) -> float:
    return round(chance.uniform(after, LASTING), 3)


def shortly(chance: Random, after: float, within: float) -> float:
    """At most so many seconds later."""
    return round(min(after + chance.uniform(0.0, within), LASTING), 3)


def again(
    created: actions.CreatePods, at: float, *, with_claims: bool = True
) -> actions.RecreatePods:
    return actions.RecreatePods(
        at=at,
        name=created.name,
        pods=created.pods,
        class_name=created.class_name,
        with_claims=with_claims,
    )


def compete_for_volumes(chance: Random, shape: ClusterShape) -> list[Event]:
    """Claims that ask for volumes made by hand, of which there are too few or just enough; in most
    scenarios two schedulers hand them out, or one that is behind."""
    begun = round(chance.uniform(0.0, LASTING * 0.7), 3)
    made: list[Event] = []
    class_name = chance.choice(("disk", "disk", "zonal", "now"))
    if class_name == "disk":
        made += _local_volumes(chance, shape, begun)
    else:
        made += [
            static_volumes.CreateZonalVolumes(
                at=begun,
                name=f"made-{zone}",
                zone=zone,
                volumes=chance.randint(1, 3),
                class_name=class_name,
            )
            for zone in shape.zones
            if happens(chance, 0.6)
        ]
    asked = shortly(chance, begun, 20.0)
    rivals = actions.CreatePods(
        at=asked, name="rivals", pods=chance.randint(2, 6), class_name=class_name
    )
    made.append(rivals)
    if happens(chance, 0.6):
        made += _two_schedulers(chance, class_name, asked)
    elif happens(chance, 0.7):
        made.append(
            faults.DelayWatches(
                at=asked,
                what=chance.choice(("scheduler", "controller")),
                resource="persistentvolumes",
                by=chance.choice((5.0, 20.0)),
            )
        )
    if happens(chance, 0.4):
        made.append(again(rivals, shortly(chance, asked, 60.0)))
    return made


def _two_schedulers(chance: Random, class_name: str, asked: float) -> list[Event]:
    """One of them does not see which volumes the first claims got when the next claims come."""
    return [
        faults.StartSecondScheduler(at=max(asked - 20.0, 0.0), lasting=60.0),
        faults.DelayWatches(
            at=asked,
            what=chance.choice((SECOND_SCHEDULER, "scheduler")),
            resource="persistentvolumes",
            by=30.0,
            rate=1.0,
        ),
        actions.CreatePods(
            at=shortly(chance, asked + 1.0, 4.0),
            name="late",
            pods=chance.randint(1, 3),
            class_name=class_name,
        ),
    ]


def _local_volumes(chance: Random, shape: ClusterShape, begun: float) -> list[Event]:
    made: list[Event] = []
    for node in shape.nodes:
        if not happens(chance, 0.6):
            continue
        created = static_volumes.CreateLocalVolumes(
            at=begun,
            name=f"disk-{node.name}",
            node=node.name,
            volumes=chance.randint(1, 3),
            class_name="disk",
            size=chance.choice(("1Gi", "1Gi", "3Gi")),
        )
        made.append(created)
        if happens(chance, 0.3):
            made.append(
                static_volumes.RecreateLocalVolumes(
                    at=shortly(chance, begun, 60.0),
                    name=created.name,
                    node=created.node,
                    volumes=created.volumes,
                    class_name=created.class_name,
                    size=created.size,
                )
            )
    return made


def recreate_quickly(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Pods, claims and sets that are deleted and come again under the same names at once, while
    some process does not see it yet."""
    begun = round(chance.uniform(0.0, LASTING * 0.7), 3)
    class_name = chance.choice(("zonal", "local", "now"))
    made: list[Event] = []
    if happens(chance, 0.3):
        at = shortly(chance, begun, 60.0)
        soon = shortly(chance, at, 3.0)
        made += [
            actions.CreateStatefulSet(at=begun, name="again", class_name=class_name),
            actions.DeleteStatefulSet(at=at, name="again"),
            actions.CreateStatefulSet(at=soon, name="again", class_name=class_name),
        ]
    else:
        pods, at = chance.randint(1, 4), begun
        created = actions.CreatePods(at=at, name="again", pods=pods, class_name=class_name)
        made.append(created)
        for _ in range(chance.randint(1, 3)):
            at = shortly(chance, at, 40.0)
            made.append(again(created, at, with_claims=happens(chance, 0.7)))
    what = chance.choice(("scheduler", "controller", "provisioner", "nodes", ""))
    made.append(faults.DelayWatches(at=at, what=what, by=chance.choice((1.0, 5.0, 20.0))))
    return made


def break_watches_while_objects_go(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Watches that have to list again, and do not find what was deleted meanwhile."""
    begun = round(chance.uniform(0.0, LASTING * 0.6), 3)
    gone = shortly(chance, begun + 20.0, 30.0)
    class_name = chance.choice(("zonal", "local", "now"))
    pods = chance.randint(2, 5)
    return [
        actions.CreatePods(at=begun, name="brief", pods=pods, class_name=class_name),
        faults.BreakWatches(
            at=max(gone - chance.uniform(0.1, 2.0), begun),
            what=chance.choice(("scheduler", "controller", "provisioner", "")),
            expire=happens(chance, 0.8),
            rate=chance.choice((0.5, 1.0)),
            lasting=chance.choice((5.0, 20.0, 40.0)),
        ),
        actions.DeletePods(at=gone, name="brief"),
    ]


def change_nodes_while_volumes_are_made(chance: Random, shape: ClusterShape) -> list[Event]:
    """Another node is selected for claims whose volumes are being made, slowly."""
    begun = round(chance.uniform(0.0, LASTING * 0.7), 3)
    pods, class_name = chance.randint(1, 4), chance.choice(("zonal", "local"))
    created = actions.CreatePods(at=begun, name="moved", pods=pods, class_name=class_name)
    slow = faults.DriverHangs(
        at=begun,
        driver=ZONAL if class_name == "zonal" else LOCAL,
        call=FaultyCall.CREATE,
        lasting=round(chance.uniform(4.0, 9.5), 3),
        when=chance.choice(tuple(When)),
        times=pods,
    )
    made: list[Event] = [slow, created]
    if happens(chance, 0.4):
        node = chance.choice(shape.nodes).name
        at = shortly(chance, begun, 3.0)
        made += [
            actions.Drain(at=at, node=node),
            actions.Uncordon(at=shortly(chance, at, 60.0), node=node),
        ]
    at = shortly(chance, begun + 0.5, 4.0)
    made.append(actions.ForgetSelectedNode(at=at, name="moved"))
    if happens(chance, 0.4):
        made.append(again(created, shortly(chance, begun, 4.0), with_claims=False))
    return made


def copy_and_grow(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Volumes that are snapshot, restored, cloned and grown, and deleted meanwhile."""
    begun = round(chance.uniform(0.0, LASTING * 0.6), 3)
    class_name = chance.choice(("zonal", "local", "now"))
    driver = LOCAL if class_name == "local" else ZONAL
    taken = shortly(chance, begun + 2.0, 20.0)
    soon = shortly(chance, taken, 20.0)
    copy = {"class_name": class_name, "size": chance.choice(("1Gi", "1Gi", "2Gi"))}
    made: list[Event] = [
        actions.CreatePods(at=begun, name="origin", pods=2, class_name=class_name),
        copied_volumes.SnapshotClaim(
            at=taken, name="snapshot", claim="origin-0", class_name=class_name
        ),
        copied_volumes.RestoreSnapshot(at=soon, name="restored", snapshot="snapshot", **copy),
    ]
    if happens(chance, 0.6):
        at = shortly(chance, begun, 40.0)
        made.append(copied_volumes.CloneClaim(at=at, name="clone", claim="origin-1", **copy))
    for claim in ("origin-0", "origin-1", "restored", "clone"):
        if happens(chance, 0.4):
            at, size = shortly(chance, taken, 60.0), chance.choice(("1500Mi", "2Gi", "3Gi"))
            made.append(copied_volumes.GrowClaim(at=at, claim=claim, size=size))
    if happens(chance, 0.5):
        made.append(copied_volumes.DropSnapshot(at=shortly(chance, taken, 60.0), name="snapshot"))
    made += [
        actions.DeletePods(at=shortly(chance, taken, 60.0), name=name)
        for name in ("origin", "restored", "clone")
        if happens(chance, 0.3)
    ]
    if happens(chance, 0.6):
        calls = (FaultyCall.SNAPSHOT, FaultyCall.DELETE_SNAPSHOT, FaultyCall.EXPAND)
        made.append(
            faults.DriverFails(
                at=taken,
                driver=driver,
                call=chance.choice(calls),
                code=chance.choice(("INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED")),
                when=chance.choice(tuple(When)),
                times=chance.randint(1, 4),
            )
        )
    if happens(chance, 0.5):
        at = shortly(chance, taken, 10.0)
        writes = chance.randint(1, 6)
        made.append(faults.Cut(at=at, what="leader of controller", after_writes=writes))
    return made


def provision_inside(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Claims for the provisioner inside the controllers, which are killed at work."""
    begun = round(chance.uniform(0.0, LASTING * 0.7), 3)
    created = actions.CreatePods(
        at=begun, name="inside", pods=chance.randint(1, 5), class_name=INSIDE.name
    )
    made: list[Event] = [created]
    for _ in range(chance.randint(1, 3)):
        at, writes = shortly(chance, begun, 2.0), chance.randint(1, 12)
        made.append(faults.Cut(at=at, what="leader of controller", after_writes=writes))
    if happens(chance, 0.6):
        made.append(actions.DeletePods(at=shortly(chance, begun, 4.0), name="inside"))
    elif happens(chance, 0.3):
        made.append(again(created, shortly(chance, begun, 10.0)))
    return made


def crowd(chance: Random, shape: ClusterShape) -> list[Event]:
    """More pods than can have their volumes attached, all at once. Some nodes are cut off, and find
    out later what became of their pods."""
    limit = max(node.max_volumes for node in shape.nodes)
    if not 0 < limit <= FEW_VOLUMES:
        return []
    begun = round(chance.uniform(0.0, LASTING * 0.6), 3)
    pods = min(limit * len(shape.nodes) + 2, MOST_PODS)
    made: list[Event] = [
        actions.CreatePods(at=begun, name="crowd", pods=pods, class_name="zonal", size=SMALL)
    ]
    if happens(chance, 0.5):
        at = shortly(chance, begun + 20.0, 40.0)
        made.append(faults.Cut(at=at, what="nodes*", lasting=chance.choice((5.0, 30.0))))
    if happens(chance, 0.5):
        made.append(actions.DeletePods(at=moment(chance, begun + 20.0), name="crowd"))
    return made


def interrupt_bindings(chance: Random, _shape: ClusterShape) -> list[Event]:
    """Claims are bound in several writes; not all of them go through."""
    begun = round(chance.uniform(0.0, LASTING * 0.8), 3)
    trouble: tuple[AnyFault, ...] = (
        faults.Conflicts(at=begun, rate=0.3, lasting=15.0),
        faults.LoseMessages(at=begun, rate=0.2, lasting=15.0),
        faults.Cut(at=begun, what="leader of controller", after_writes=chance.randint(3, 12)),
    )
    pods, class_name = chance.randint(2, 5), chance.choice(("zonal", "local", "now"))
    created = actions.CreatePods(
        at=begun, name="bound", pods=pods, class_name=class_name, size=SMALL
    )
    return [chance.choice(trouble), created]
