"""Refuses calls of a leader that another one has followed, however late they arrive.

The newest epoch of each lease is in the ledger before the first call of that epoch is carried out,
so that a driver that was started again refuses the same calls. All sockets of a driver share its
ledger. The ledger is written once for each leader, not for each call. A call that names no epoch
is carried out: other programs call drivers too.
"""

from collections.abc import Mapping

from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.records import EpochRecord
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.csi.epochs import parse_epoch, superseded
from plimsoll.wire.csi.fenced import HARMLESS_CALLS
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.refusals import invalid_argument
from plimsoll.wire.csi.transport import Metadata


class EpochGate:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def guarded(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """The same handlers; those that may change something let only the newest leader in."""
        return {
            name: handler if name in HARMLESS_CALLS else self._guarded(handler)
            for name, handler in handlers.items()
        }

    def _guarded(self, handler: Handler) -> Handler:
        async def call(request: bytes, metadata: Metadata) -> bytes:
            self.check(metadata)
            return await handler(request, metadata)

        return call

    def check(self, metadata: Metadata) -> None:
        """Raises CsiStatusError."""
        try:
            epoch = parse_epoch(metadata)
        except ValueError as error:
            raise invalid_argument(str(error)) from error
        if epoch is None:
            return
        newest = self._newest(epoch.lease)
        if newest is not None and epoch.is_before(newest):
            raise superseded(epoch, newest)
        if newest is None or newest.is_before(epoch):
            self._ledger.epochs.put(
                EpochRecord(
                    id=epoch.lease,
                    lease_created_at=epoch.lease_created_at,
                    transitions=epoch.transitions,
                )
            )

    def _newest(self, lease: str) -> LeaderEpoch | None:
        found = self._ledger.epochs.find(lease)
        if found is None:
            return None
        return LeaderEpoch(
            lease=lease, lease_created_at=found.lease_created_at, transitions=found.transitions
        )
