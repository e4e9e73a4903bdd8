"""Room that a volume takes, or is about to take."""

from datetime import datetime
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.selectors.node import NodeSelectorSpec
from plimsoll.decide.capacity.tokens import CapacityToken

WANTED = ObjectKey("", "")
"""In place of a lease: the volume that the claim is to get."""


DISMISSED = ObjectKey("", "dismissed")
"""In place of a lease: what may have been begun before the node was taken off the claim."""


class ReservationKey(NamedTuple):
    claim: ObjectKey
    attempt: ObjectKey = WANTED
    """The lease of an attempt whose volume the claim is not to get."""


class RecordedVolume(NamedTuple):
    """What tells whether a report counts a volume in."""

    token: CapacityToken | None
    """Reports that have reached it do; None: its provisioner writes none."""
    reports: int = 0
    """How many reports there had been when it was first seen. Where tokens are missing, the first
    of an object after that may be older than the volume; the second is not."""
    until: datetime | None = None
    """By then it counts as reported where tokens are missing; None: it does at once."""
    reach: NodeSelectorSpec | None = None
    """Of nodes; None: of all, or not known."""


class Reservation(NamedTuple):
    claim: ObjectKey
    storage_class: str
    size: int
    node: str
    """The selected one."""
    recorded: RecordedVolume | None
    """None: it is not recorded yet."""
    must_fit: bool = False
    """It takes nothing of a pool that could not hold it: another writer has selected the node, and
    no provisioner has begun."""
