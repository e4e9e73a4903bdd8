"""One finding of these checks: an object that is not as it has to be after the last fault."""

from dataclasses import dataclass

from plimsoll.simulator.invariants import Invariant


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    invariant: Invariant
    message: str
    is_known: bool = False


def stuck(message: str, *, is_known: bool = False) -> Unsettled:
    return Unsettled(invariant=Invariant.EVERYTHING_RUNS, message=message, is_known=is_known)
