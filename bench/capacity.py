"""What it costs a publisher of capacity to decide, and how much work can pile up.

Storage on the disks of 2,000 nodes, three classes. Processor time of the decisions alone: driver
and server answer at once. Then 1,000 volumes are provisioned, and it is polled ten times, while no
worker runs: what waits must stay below the number of pairs.
"""

import gc
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

import msgspec

from bench.measurement import Measurement
from bench.scheduling import a_class, a_volume
from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey, ObjectMeta
from plimsoll.api.storage import CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity
from plimsoll.api.typed import from_document
from plimsoll.decide.capacity.findings import findings
from plimsoll.decide.capacity.overview import ObservedCapacity, overview_of
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import CapacityAnswer, CapacitySettings
from plimsoll.decide.plan import Create, Patch, Plan

SEGMENTS, CLASSES = 2_000, ("fast", "slow", "mirrored")
DRIVER, HOST = "bench.example.com", "topology.bench.example.com/host"
NOW = datetime(2024, 1, 1, tzinfo=UTC)
GIB = 2**30
VOLUMES, POLLS = 1_000, 10


def a_node(name: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels={HOST: name}))


def a_csi_node(name: str, driver: str = DRIVER) -> CSINode:
    entry = CSINodeDriver(name=driver, node_id=name, topology_keys=(HOST,))
    return CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=(entry,)))


class Bench:
    """A publisher, and a server that stores what it writes."""

    def __init__(self) -> None:
        settings = CapacitySettings(
            driver=DRIVER, publisher="external-provisioner", namespace="bench"
        )
        self.publisher = Publisher(settings)
        self.stored: dict[ObjectKey, CSIStorageCapacity] = {}
        self.writes = 0
        self._free = 100
        self._numbers = count()

    def start(self) -> None:
        for number in range(SEGMENTS):
            name = f"node-{number:05}"
            self.publisher.put_node(a_node(name))
            self.publisher.put_csi_node(a_csi_node(name))
        for name in CLASSES:
            self.publisher.put_class(a_class(name, DRIVER), NOW)
        self.work()

    def poll(self) -> None:
        self.publisher.poll(NOW)
        self.work()

    def provision(self) -> None:
        self._free -= 1
        self.publisher.provisioned(a_volume("pvc", "fast", (HOST, "node-00007"), gib=1))
        self.work()

    def change_node(self) -> None:
        """A driver leaves one node and comes to another."""
        self.publisher.put_csi_node(a_csi_node("node-00009", "other.example.com"))
        self.publisher.put_node(a_node("node-new"))
        self.publisher.put_csi_node(a_csi_node("node-new"))
        self.work()

    def work(self) -> None:
        publisher = self.publisher
        publisher.catch_up(NOW)
        while (pair := publisher.take()) is not None:
            if publisher.question(pair) is not None:
                self._enact(publisher.answered(pair, CapacityAnswer(self._free * GIB), NOW))
            publisher.finish(pair, NOW)
        self._enact(publisher.decide_removals(NOW))

    def _enact(self, plan: Plan) -> None:
        for write in plan.writes:
            self.writes += 1
            match write:
                case Create(document=document):
                    name = f"csisc-{next(self._numbers)}"
                    metadata = document["metadata"] | {"name": name, "uid": name}
                    made = from_document(CSIStorageCapacity, document | {"metadata": metadata})
                    self._store(made)
                case Patch(key=key, patch=patch):
                    capacity = patch["capacity"]
                    self._store(msgspec.structs.replace(self.stored[key], capacity=capacity))
                case _:
                    raise TypeError(f"not expected here: {write}")

    def _store(self, object_: CSIStorageCapacity) -> None:
        self.stored[object_.key] = object_
        self.publisher.put_object(object_, NOW)

    def pile_up(self) -> int:
        """How much waits when volumes are provisioned and no worker runs."""
        for number in range(VOLUMES):
            host = f"node-{number % SEGMENTS:05}"
            self.publisher.provisioned(a_volume("pvc", "fast", (HOST, host), gib=1))
            if number % (VOLUMES // POLLS) == 0:
                self.publisher.poll(NOW)
        return self.publisher.waiting

    def look_over(self) -> None:
        """What `plimsoll capacity` works out."""
        nodes = [a_node(f"node-{number:05}") for number in range(SEGMENTS)]
        observed = ObservedCapacity(
            capacities=self.stored.values(),
            classes=[a_class(name, DRIVER) for name in CLASSES],
            nodes=nodes,
            csi_nodes=[a_csi_node(node.name) for node in nodes],
            drivers=(),
            leases=(),
            now=NOW,
        )
        findings(overview_of(observed))


def measure_capacity(say: Callable[[str], None]) -> list[Measurement]:
    say(f"  capacity: {SEGMENTS:,} segments, {len(CLASSES)} classes")
    bench = Bench()
    found = []
    for what, do in (
        ("start", bench.start),
        ("poll", bench.poll),
        ("one volume made", bench.provision),
        ("a driver moves to another node", bench.change_node),
        ("overview and findings", bench.look_over),
    ):
        before = bench.writes
        found.append(_timed(what, do))
        found.append(_counted(f"{what}: writes", bench.writes - before))
    pairs = bench.publisher.metrics.desired_goal
    waiting = _counted(f"waiting after {VOLUMES:,} volumes, {POLLS} polls", bench.pile_up())
    return [*found, waiting, _counted("pairs of segment and class", pairs)]


def _timed(what: str, do: Callable[[], None]) -> Measurement:
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        do()
        spent = time.process_time() - began
    finally:
        gc.enable()
    return Measurement(name=f"capacity: {what}", value=1e3 * spent, unit="ms", better="lower")


def _counted(what: str, number: int) -> Measurement:
    return Measurement(name=f"capacity: {what}", value=number, unit="", better="lower")
