"""What the records of a driver add up to, kept with every record that is written.

Each call that places, attaches or reports capacity asks for these sums. Adding up all records every
time would make the thousandth volume a hundred times as dear as the tenth.
"""

from collections import Counter

from plimsoll.processes.driver.backends.protocol import Charges
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.records import RecordPhase, SnapshotRecord, VolumeRecord

Charged = VolumeRecord | SnapshotRecord


class Accounts:
    def __init__(self, ledger: Ledger) -> None:
        self._promised: Counter[str] = Counter()
        self._unmade: Counter[str] = Counter()
        self._attached: Counter[str] = Counter()
        """Volumes, by the id of the node."""
        for volume in ledger.volumes.all():
            self._changed(None, volume)
        for snapshot in ledger.snapshots.all():
            self._changed(None, snapshot)
        ledger.volumes.on_change.append(self._changed)
        ledger.snapshots.on_change.append(self._changed)

    def charges(self) -> Charges:
        """As they are now: later writes do not change the answer."""
        return Charges(promised=self._promised.copy(), unmade=self._unmade.copy())

    def attached_to(self, node_id: str) -> int:
        return self._attached[node_id]

    def _changed(self, before: Charged | None, after: Charged | None) -> None:
        if before is not None:
            self._count(before, -1)
        if after is not None:
            self._count(after, 1)

    def _count(self, entry: Charged, sign: int) -> None:
        for part in entry.placement.parts:
            _add(self._promised, part.extent, sign * part.bytes)
            if entry.phase is RecordPhase.MAKING:
                _add(self._unmade, part.extent, sign * part.bytes)
        if isinstance(entry, VolumeRecord):
            for attachment in entry.attachments:
                _add(self._attached, attachment.node_id, sign)


def _add(sums: Counter[str], name: str, amount: int) -> None:
    sums[name] += amount
    if not sums[name]:
        del sums[name]
