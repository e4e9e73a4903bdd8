"""What can go wrong with a call to a CSI driver, and what may safely happen next.

Callers look at `failure`, never at codes or texts. Two questions matter. May there be something now
that was not there before (`is_certain`)? May the driver still be working on it (`is_final`)? No
caller may turn to another node, or forget a claim, before a call with the same arguments has ended
in an answer that is final: else the driver could create a volume that no object records.
"""

from enum import StrEnum

from grpc import StatusCode

from plimsoll.wire.csi.transport import NO_METADATA, Metadata

NEWEST_EPOCH_KEY = "plimsoll-newest-epoch"
"""In the metadata of a refusal: the call is of an older leader than the one that this names."""


class DriverFailure(StrEnum):
    OUT_OF_CAPACITY = "OutOfCapacity"
    """Certain: nothing was created, there is too little capacity here."""
    REJECTED = "Rejected"
    """Certain: the request itself is wrong, or its credentials; repeating it cannot help."""
    UNSUPPORTED = "Unsupported"
    """Certain: the driver does not know this call."""
    NOT_FOUND = "NotFound"
    """Certain: what the call is about, or builds on, does not exist. For a deletion: it is done."""
    NAME_TAKEN = "NameTaken"
    """Certain: there is a volume of that name, made for other arguments."""
    WRONG_STATE = "WrongState"
    """Certain: not possible now, as for a volume that is in use; something must change first."""
    SUPERSEDED = "Superseded"
    """Certain: nothing was done, because the driver knows a newer leader than this process."""
    UNREACHABLE = "Unreachable"
    """Certain: the driver did not get this call. An earlier one may still be running there."""
    GAVE_UP = "GaveUp"
    """The driver has ended its attempt; whether it left something behind, it does not say."""
    BUSY = "Busy"
    """Another call for this volume is running: its outcome is not known."""
    UNKNOWN_OUTCOME = "UnknownOutcome"
    """No answer that can be trusted: it may be done, undone, or still under way."""


UNCERTAIN = frozenset({DriverFailure.GAVE_UP, DriverFailure.BUSY, DriverFailure.UNKNOWN_OUTCOME})
STILL_WORKING = frozenset(
    {DriverFailure.UNREACHABLE, DriverFailure.BUSY, DriverFailure.UNKNOWN_OUTCOME}
)
"""What csi-provisioner calls "in background": it asks again, even if the claim is gone by then."""

FAILURE_BY_CODE = {
    StatusCode.RESOURCE_EXHAUSTED: DriverFailure.OUT_OF_CAPACITY,
    StatusCode.INVALID_ARGUMENT: DriverFailure.REJECTED,
    StatusCode.OUT_OF_RANGE: DriverFailure.REJECTED,
    StatusCode.PERMISSION_DENIED: DriverFailure.REJECTED,
    StatusCode.UNAUTHENTICATED: DriverFailure.REJECTED,
    StatusCode.UNIMPLEMENTED: DriverFailure.UNSUPPORTED,
    StatusCode.NOT_FOUND: DriverFailure.NOT_FOUND,
    StatusCode.ALREADY_EXISTS: DriverFailure.NAME_TAKEN,
    StatusCode.FAILED_PRECONDITION: DriverFailure.WRONG_STATE,
    StatusCode.INTERNAL: DriverFailure.GAVE_UP,
    StatusCode.UNKNOWN: DriverFailure.GAVE_UP,
    StatusCode.DATA_LOSS: DriverFailure.GAVE_UP,
    StatusCode.ABORTED: DriverFailure.BUSY,
}


class DriverError(Exception):
    """A call got no, or a negative, answer."""

    def __init__(
        self,
        failure: DriverFailure,
        *,
        method: str,
        detail: str,
        code: StatusCode = StatusCode.UNAVAILABLE,
    ) -> None:
        super().__init__(f"{method}: {failure}: {detail}")
        self.failure = failure
        self.code = code.name
        """The driver's own code, for callers that pass it on: `RESOURCE_EXHAUSTED`."""
        self.method = method
        self.detail = detail

    @property
    def is_certain(self) -> bool:
        """True when this call has surely created and changed nothing."""
        return self.failure not in UNCERTAIN

    @property
    def is_final(self) -> bool:
        """True when the driver is surely not working on it any more."""
        return self.failure not in STILL_WORKING


class CsiStatusError(Exception):
    """How a driver's own code refuses a call; the caller gets a DriverError."""

    def __init__(self, code: StatusCode, detail: str, metadata: Metadata = NO_METADATA) -> None:
        super().__init__(f"{code.name}: {detail}")
        self.code = code
        self.detail = detail
        self.metadata = metadata
        """Of the answer: what a program may read of the refusal, beside its code."""


def driver_error(
    code: StatusCode, *, method: str, detail: str, metadata: Metadata = NO_METADATA
) -> DriverError:
    """Any code not in the table (cancelled, deadline, unavailable) leaves the outcome unknown."""
    failure = FAILURE_BY_CODE.get(code, DriverFailure.UNKNOWN_OUTCOME)
    if code is StatusCode.FAILED_PRECONDITION and NEWEST_EPOCH_KEY in metadata:
        failure = DriverFailure.SUPERSEDED
    return DriverError(failure, method=method, detail=detail, code=code)


def unreachable(method: str, detail: str) -> DriverError:
    """Only a transport knows that a call never left."""
    return DriverError(DriverFailure.UNREACHABLE, method=method, detail=detail)
