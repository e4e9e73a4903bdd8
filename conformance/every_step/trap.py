"""Ends one process at its n-th step, before the step takes effect or after it did."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class KillMoment(StrEnum):
    BEFORE = "before"
    """The step was sent, and did not arrive."""
    AFTER = "after"
    """It took effect, and the answer did not arrive."""


@dataclass(frozen=True, slots=True)
class SeenStep:
    caller: str
    callee: str
    what: str
    """`PUT group`, `CreateVolume`, …"""

    def __str__(self) -> str:
        return f"{self.what} from {self.caller} to {self.callee}"


class Trap:
    """Counts from the moment at which it is set. The caller and the callee both take a step."""

    def __init__(self) -> None:
        self._victim = ""
        self._number = 0
        self._moment = KillMoment.BEFORE
        self._kill: Callable[[], None] = lambda: None
        self._count = 0
        self.sprung: SeenStep | None = None
        """The step at which the process was ended."""

    def set(self, victim: str, number: int, moment: KillMoment, kill: Callable[[], None]) -> None:
        self._victim, self._number, self._moment, self._kill = victim, number, moment, kill
        self._count = 0
        self.sprung = None

    def disarm(self) -> None:
        self._victim = ""

    def fate(self, step: SeenStep) -> KillMoment | None:
        """When the process has to be ended; None: the step passes. Counts the step."""
        if self._victim not in (step.caller, step.callee):
            return None
        self._count += 1
        return self._moment if self._count == self._number else None

    def spring(self, step: SeenStep) -> None:
        self.sprung = step
        self._kill()
