"""Which domains are fenced, and what fences have made read-only: both survive a restart.

A fence counts for nodes from the moment when it is recorded. It counts for callers when it has come
to its end: only then can nothing in the domain write any more.
"""

from collections.abc import Iterator

import msgspec

from plimsoll.processes.driver.controller.placement import Segment
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.records import FencePhase, FenceRecord, WithheldMountRecord
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.wire.csi.refusals import failed_precondition


class DomainFences:
    def __init__(self, ledger: Ledger) -> None:
        self._fences = ledger.fences
        self._withheld = ledger.withheld_mounts

    def all(self) -> tuple[FenceRecord, ...]:
        return self._fences.all()

    def is_fenced(self, domain: Segment) -> bool:
        found = self._fences.find(domain_id(domain))
        return found is not None and found.is_complete

    def record(self, domain: Segment, phase: FencePhase) -> None:
        known = self._fences.find(domain_id(domain))
        if known is None:
            known = FenceRecord(id=domain_id(domain), domain=dict(domain), phase=phase)
        self._fences.put(msgspec.structs.replace(known, phase=phase))

    def forget(self, domain: Segment) -> None:
        self._fences.drop(domain_id(domain))

    def find(self, node: NodeSettings) -> FenceRecord | None:
        """The fence that keeps the node out."""
        for fence in self._fences.all():
            if fence.phase is not FencePhase.RELEASING and is_in(node.topology, fence.domain):
                return fence
        return None

    def check(self, node: NodeSettings) -> None:
        """Raises CsiStatusError (FAILED_PRECONDITION) for a node in a domain that is fenced."""
        if (fence := self.find(node)) is not None:
            raise failed_precondition(
                f"node {node.id}: is in {fence.id}, which is fenced because other domains take it"
                " over; take its entry off the takeover map to give it back"
            )

    # What fences have made read-only

    def withhold(self, mount: WithheldMountRecord) -> None:
        self._withheld.put(mount)

    def withheld(self, node_id: str, volume_id: str) -> Iterator[WithheldMountRecord]:
        for mount in self._withheld.all():
            if (mount.node_id, mount.volume_id) == (node_id, volume_id):
                yield mount

    def give_back(self, mount: WithheldMountRecord) -> None:
        """It can be written to again, or is there no more."""
        self._withheld.drop(mount.id)


def domain_id(domain: Segment) -> str:
    """`topology.example.com/zone=b`; one for each domain."""
    return ",".join(f"{key}={value}" for key, value in sorted(domain.items()))


def is_in(segment: Segment, domain: Segment) -> bool:
    return all(segment.get(key) == value for key, value in domain.items())
