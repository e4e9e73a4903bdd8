"""How a call to a driver says for which leader it is made: two keys of its metadata.

`plimsoll-lease` is the lease's namespace and name, `plimsoll-epoch` when the API server made the
lease and how often it changed hands: `2030-01-31T12:00:00Z/4`. Drivers that do not know the keys
ignore them.
"""

from datetime import UTC, datetime

from grpc import StatusCode

from plimsoll.api.meta import wire_time
from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.wire.csi.errors import NEWEST_EPOCH_KEY, CsiStatusError
from plimsoll.wire.csi.transport import NO_METADATA, Metadata

LEASE_KEY = "plimsoll-lease"
EPOCH_KEY = "plimsoll-epoch"
LONGEST_NAME = 63 + 1 + 253
"""Of a namespace, a slash, and the name of an object in it."""


def epoch_metadata(epoch: LeaderEpoch | None) -> Metadata:
    """Nothing for a process that holds no lease."""
    if epoch is None:
        return NO_METADATA
    return {LEASE_KEY: epoch.lease, EPOCH_KEY: shown_epoch(epoch)}


def parse_epoch(metadata: Metadata) -> LeaderEpoch | None:
    """None if the call carries none. Raises ValueError."""
    lease, text = metadata.get(LEASE_KEY), metadata.get(EPOCH_KEY)
    if lease is None and text is None:
        return None
    if lease is None or text is None:
        raise ValueError(f"metadata: {LEASE_KEY} and {EPOCH_KEY} must be given together")
    if not 0 < len(lease) <= LONGEST_NAME:
        raise ValueError(f"metadata: {LEASE_KEY} must be a namespace and a name")
    created, _, transitions = text.rpartition("/")
    if not (
        transitions.isascii() and transitions.isdecimal() and len(transitions) <= len(str(2**63))
    ):
        raise ValueError(f"metadata: {EPOCH_KEY} {text!r} does not end with a number")
    return LeaderEpoch(lease=lease, lease_created_at=_time(created), transitions=int(transitions))


def _time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError(f"metadata: {EPOCH_KEY} does not begin with a time: {text!r}")
    return at.astimezone(UTC)


def shown_epoch(epoch: LeaderEpoch) -> str:
    return f"{wire_time(epoch.lease_created_at)}/{epoch.transitions}"


def superseded(epoch: LeaderEpoch, newest: LeaderEpoch) -> CsiStatusError:
    """How a driver refuses a call of a leader that another one followed; nothing was done."""
    detail = (
        f"lease {epoch.lease}: the call is of epoch {shown_epoch(epoch)}, but epoch"
        f" {shown_epoch(newest)} has followed it; if that is wrong, delete the lease"
    )
    metadata = {NEWEST_EPOCH_KEY: shown_epoch(newest)}
    return CsiStatusError(StatusCode.FAILED_PRECONDITION, detail, metadata)
