"""Drivers that tell what they have are not asked for more, followed for the checks of `invariants`.

The promise is for drivers of Plimsoll, which declare their pools, and for volumes that a scheduler
of ours has chosen a node for. What takes room without it is left out: a driver of which that was
seen counts no more.
"""

from dataclasses import dataclass, field
from functools import partial

from grpc import StatusCode

from plimsoll.api.registry import Document
from plimsoll.simulator.cluster.driver_host import AnsweredCall, DriverHost
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi

ON_PURPOSE = "failed on purpose"
"""What scripted refusals say."""
UNPLANNED = frozenset({methods.CONTROLLER_EXPAND_VOLUME.name, methods.CREATE_SNAPSHOT.name})
"""Calls that take room which no scheduler has reserved."""
PROBE_BYTES = 1000


@dataclass(slots=True)
class HonestDrivers:
    cluster: SimulatedCluster
    spoiled: set[str] = field(default_factory=set)
    _classes: dict[str, tuple[str, bool]] = field(init=False)

    def __post_init__(self) -> None:
        shape = self.cluster.shape
        self._classes = {each.name: (each.driver, each.is_immediate) for each in shape.classes}
        for driver in shape.drivers:
            if driver.only_csi or not (driver.tracks_capacity and driver.strict_topology):
                self.spoiled.add(driver.name)
            host = self.cluster.drivers[driver.name]
            host.on_call.append(partial(self._called, host))

    def claim_changed(self, claim: Document) -> None:
        """Copies, and claims that wait for no scheduler, spoil their driver."""
        driver, is_immediate = self._classes.get(
            claim["spec"].get("storageClassName", ""), ("", False)
        )
        if is_immediate or claim["spec"].get("dataSource"):
            self.spoiled.add(driver)

    def _called(self, host: DriverHost, sender: SimulatedProcess, method: str) -> None:
        faults = None if host.backend is None else host.backend.faults
        is_lying = faults is not None and faults.told_bytes("", PROBE_BYTES) != PROBE_BYTES
        is_by_hand = sender is self.cluster.user and method == methods.CREATE_VOLUME.name
        if is_lying or is_by_hand or method in UNPLANNED:
            self.spoiled.add(host.name)

    def refused(self, host: DriverHost, call: AnsweredCall, refusal: DriverError) -> str:
        """What is wrong with it; empty: nothing is."""
        is_full = refusal.code == StatusCode.RESOURCE_EXHAUSTED.name
        is_creation = call.method == methods.CREATE_VOLUME.name
        others = (
            self.cluster.second_scheduler,
            *self.cluster.stock_provisioners.values(),
        )
        is_alone = not any(component.lives for component in others)
        is_honest = host.name not in self.spoiled and ON_PURPOSE not in refusal.detail
        if not (is_full and is_creation and is_honest and is_alone):
            return ""
        name = csi.CreateVolumeRequest.FromString(call.request).name
        return f"{host.name} was asked for {name}: {refusal.detail}"
