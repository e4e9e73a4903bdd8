"""Refusals of a driver: one function for each status that CSI gives a meaning to.

The texts reach users through events, so they name the object and the remedy, and hold no secret.
"""

from grpc import StatusCode

from plimsoll.wire.csi.errors import CsiStatusError


def invalid_argument(detail: str) -> CsiStatusError:
    """The request is wrong, and stays so."""
    return CsiStatusError(StatusCode.INVALID_ARGUMENT, detail)


def not_found(detail: str) -> CsiStatusError:
    return CsiStatusError(StatusCode.NOT_FOUND, detail)


def already_exists(detail: str) -> CsiStatusError:
    """The name is taken by a volume with other arguments."""
    return CsiStatusError(StatusCode.ALREADY_EXISTS, detail)


def failed_precondition(detail: str) -> CsiStatusError:
    """Not in this state of things: in use, published elsewhere."""
    return CsiStatusError(StatusCode.FAILED_PRECONDITION, detail)


def aborted(detail: str) -> CsiStatusError:
    """Another call for the same thing is under way."""
    return CsiStatusError(StatusCode.ABORTED, detail)


def resource_exhausted(detail: str) -> CsiStatusError:
    """Too little capacity where the volume is wanted."""
    return CsiStatusError(StatusCode.RESOURCE_EXHAUSTED, detail)


def out_of_range(detail: str) -> CsiStatusError:
    """A size, or a place in a list, that there cannot be."""
    return CsiStatusError(StatusCode.OUT_OF_RANGE, detail)


def unimplemented(detail: str) -> CsiStatusError:
    return CsiStatusError(StatusCode.UNIMPLEMENTED, detail)


def unavailable(detail: str) -> CsiStatusError:
    """Not now; the outcome of the call is unknown."""
    return CsiStatusError(StatusCode.UNAVAILABLE, detail)


def internal(detail: str) -> CsiStatusError:
    """An attempt failed, and was undone."""
    return CsiStatusError(StatusCode.INTERNAL, detail)
