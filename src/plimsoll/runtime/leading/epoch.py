"""Which leader of a lease, in the order in which they led: the epoch of a leader.

A lease counts how often it passed from one holder to another. The count begins again when the lease
is deleted and made anew, so the time at which the API server made the lease comes first in the
order. Both come from the server: no clock of a candidate is asked.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpoch:
    """Epochs of different leases have no order."""

    lease: str
    """Its namespace and name."""
    lease_created_at: datetime
    """By the API server's clock, in whole seconds."""
    transitions: int

    @property
    def text(self) -> str:
        """As records note it."""
        return f"{self.lease_created_at.isoformat()}/{self.transitions}"

    def is_before(self, other: "LeaderEpoch") -> bool:
        """Whether `other` is a later leader of the same lease."""
        ours = (self.lease_created_at, self.transitions)
        return self.lease == other.lease and ours < (other.lease_created_at, other.transitions)
