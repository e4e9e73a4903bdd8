"""What can go wrong with a call to Ceph, and how a driver tells its caller.

Callers look at `failure`, never at numbers or texts. One table translates the numbers of the
operating system that librados and librbd report, another the failures to codes of CSI.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Self

from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import (
    aborted,
    already_exists,
    failed_precondition,
    internal,
    invalid_argument,
    not_found,
    resource_exhausted,
    unavailable,
)


class CephFailure(StrEnum):
    NO_ROOM = "NoRoom"
    """A quota, or the disks themselves, are full. Nothing was written."""
    TIMED_OUT = "TimedOut"
    """No answer: it may be done, undone, or carried out later."""
    DENIED = "Denied"
    FENCED = "Fenced"
    """This client is on the blocklist: it must connect anew."""
    NOT_FOUND = "NotFound"
    POOL_NOT_FOUND = "PoolNotFound"
    EXISTS = "Exists"
    CHANGED = "Changed"
    """A key did not have the value that was expected. Nothing was written."""
    IN_USE = "InUse"
    """Another client has the image open, or died with it less than half a minute ago."""
    HAS_SNAPSHOTS = "HasSnapshots"
    REJECTED = "Rejected"
    """Ceph does not take the arguments."""
    FAILED = "Failed"


FAILURE_BY_NUMBER = {
    1: CephFailure.DENIED,
    2: CephFailure.NOT_FOUND,
    13: CephFailure.DENIED,
    16: CephFailure.IN_USE,
    17: CephFailure.EXISTS,
    22: CephFailure.REJECTED,
    28: CephFailure.NO_ROOM,
    39: CephFailure.HAS_SNAPSHOTS,
    108: CephFailure.FENCED,
    110: CephFailure.TIMED_OUT,
    122: CephFailure.NO_ROOM,
    125: CephFailure.CHANGED,
}

TEXTS = {
    CephFailure.NO_ROOM: "is full, or has reached its quota",
    CephFailure.TIMED_OUT: "did not answer in time; look at `ceph health`",
    CephFailure.DENIED: "is denied to this user or key; look at `ceph auth get`",
    CephFailure.FENCED: "has this client on its blocklist",
    CephFailure.NOT_FOUND: "has no such thing",
    CephFailure.POOL_NOT_FOUND: "does not exist",
    CephFailure.EXISTS: "has that already",
    CephFailure.CHANGED: "was changed by another client meanwhile",
    CephFailure.IN_USE: "reports that another client has the image open",
    CephFailure.HAS_SNAPSHOTS: "reports that it has snapshots",
    CephFailure.REJECTED: "does not take these arguments",
    CephFailure.FAILED: "reports an error",
}

REFUSALS: dict[CephFailure, Callable[[str], CsiStatusError]] = {
    CephFailure.NO_ROOM: resource_exhausted,
    CephFailure.TIMED_OUT: unavailable,
    # Not "permission denied", which callers take for certain: earlier steps may have been allowed.
    CephFailure.DENIED: internal,
    CephFailure.FENCED: unavailable,
    CephFailure.NOT_FOUND: not_found,
    CephFailure.POOL_NOT_FOUND: failed_precondition,
    CephFailure.EXISTS: already_exists,
    CephFailure.CHANGED: aborted,
    CephFailure.IN_USE: failed_precondition,
    CephFailure.HAS_SNAPSHOTS: failed_precondition,
    CephFailure.REJECTED: invalid_argument,
    CephFailure.FAILED: internal,
}


class CephError(Exception):
    """Ceph gave no, or a negative, answer."""

    def __init__(self, failure: CephFailure, where: str, detail: str = "") -> None:
        note = f" ({detail})" if detail else ""
        super().__init__(f"{where} {TEXTS[failure]}{note}")
        self.failure = failure
        self._where = where
        self._detail = detail

    def again(self) -> Self:
        """The same error, not raised yet: to raise one twice keeps the frames of both callers."""
        return type(self)(self.failure, self._where, self._detail)


class NoCephError(Exception):
    """Ceph's bindings cannot be imported; says why and what would help."""


def ceph_error(number: int, where: str, detail: str = "") -> CephError:
    """`where` begins the sentence: the pool, or the monitors. The sign of the number is ignored."""
    failure = FAILURE_BY_NUMBER.get(abs(number), CephFailure.FAILED)
    if failure is CephFailure.FAILED and not detail:
        detail = f"errno {abs(number)}"
    return CephError(failure, where, detail)


def refusal(error: CephError, what: str) -> CsiStatusError:
    """`what` is the volume, for people."""
    return REFUSALS[error.failure](f"{what}: {error}")
