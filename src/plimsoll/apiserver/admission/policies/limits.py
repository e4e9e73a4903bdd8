"""How long the policies of one request may take, counted in steps.

On the event loop that is little: a request that needs more stops, and is decided by the thread for
large writes. There, one evaluation may take as many steps as the rules of a custom resource, and
all of a request together ten times that.
"""

from dataclasses import dataclass, field, replace
from typing import Self

from plimsoll.apiserver.admission.policies.index import PolicyIndex
from plimsoll.apiserver.model.custom.cel.values import MOST_STEPS, Meter

MOST_OF_A_REQUEST = 10 * MOST_STEPS
BRIEF_STEPS = 5000
"""About 15 ms."""


class PolicyTimeNeededError(Exception):
    """Stops a decision on the event loop that policies would make too long."""


@dataclass(slots=True)
class PolicyBudget:
    """What is left for one request."""

    left: int
    is_brief: bool

    def spend(self, steps: int) -> None:
        """For what is not an expression, and so has no bound elsewhere than on the event loop.

        Raises PolicyTimeNeededError.
        """
        if self.is_brief:
            self.left -= steps
            if self.left <= 0:
                raise PolicyTimeNeededError

    def meter(self, most: int = MOST_STEPS) -> Meter:
        return Meter(min(self.left, most))

    def settle(self, meter: Meter, most: int = MOST_STEPS) -> None:
        """Take away what was used of a meter."""
        self.left -= min(self.left, most) - max(0, meter.left)

    def exhausted(self) -> None:
        """An evaluation has used up what it had. Raises PolicyTimeNeededError."""
        if self.is_brief:
            raise PolicyTimeNeededError


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAdmission:
    """Of one server."""

    index: PolicyIndex = field(default_factory=PolicyIndex)
    steps: int = MOST_OF_A_REQUEST
    is_brief: bool = False

    def brief(self) -> Self:
        """For a decision on the event loop."""
        return replace(self, steps=BRIEF_STEPS, is_brief=True)

    def budget(self) -> PolicyBudget:
        return PolicyBudget(self.steps, self.is_brief)
