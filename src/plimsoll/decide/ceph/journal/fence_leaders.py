"""A leader that was followed by another one changes no fence any more, whatever driver it asks.

Each process that leads may have a driver of its own, and no driver sees the calls of all leaders.
The directory of a journal does: beside the fences it has one key for each lease, with the newest
leader that wrote a fence there. A write compares that key, and sets it, in the operation that
changes the fence. So every journal decides for itself, and a check cannot become untrue before the
write that it is for. A call that names no leader is not compared: other programs call drivers too.
"""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from plimsoll.decide.ceph.journal.key_steps import read_keys
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    JournalProblem,
    RadosSteps,
    WriteRadosObject,
)

LEADER = "plimsoll.leader."
TRIES = 5
"""Each but the last found that another call had just noted itself."""


class FenceLeader(NamedTuple):
    """Leaders of different leases have no order."""

    lease: str
    """Its namespace and name."""
    lease_created_at: datetime
    transitions: int

    @property
    def key(self) -> str:
        return LEADER + self.lease

    @property
    def text(self) -> str:
        return f"{self.lease_created_at.isoformat()}/{self.transitions}"

    def is_before(self, other: "FenceLeader") -> bool:
        """Whether `other` is a later leader of the same lease."""
        ours = (self.lease_created_at, self.transitions)
        return self.lease == other.lease and ours < (other.lease_created_at, other.transitions)


class NewerLeader(NamedTuple):
    """Nothing was written: another one has followed this leader."""

    leader: FenceLeader
    newest: FenceLeader


FenceSteps = RadosSteps[JournalProblem | NewerLeader | None]


def write_as(leader: FenceLeader | None, write: WriteRadosObject) -> FenceSteps:
    if leader is None:
        return (yield from _written(write))
    for _ in range(TRIES):
        noted = yield from _noted(leader, write)
        if not isinstance(noted, WriteRadosObject):
            return noted
        problem = yield from _written(noted)
        if problem is not JournalProblem.CHANGED:
            return problem
    return JournalProblem.CHANGED


def _noted(
    leader: FenceLeader, write: WriteRadosObject
) -> RadosSteps[WriteRadosObject | JournalProblem | NewerLeader]:
    """The same write, by this leader, as long as the journal knows of no other one since."""
    found = yield from read_keys(write.object, leader.key)
    if isinstance(found, JournalProblem):
        return found
    known = found.get(leader.key, "")
    newest = _parse_leader(leader.lease, known) if known else leader
    if newest is None:
        return JournalProblem.BAD_RECORD
    if leader.is_before(newest):
        return NewerLeader(leader, newest)
    return replace(
        write,
        expected={**write.expected, leader.key: known},
        values={**write.values, leader.key: leader.text},
    )


def _written(write: WriteRadosObject) -> RadosSteps[JournalProblem | None]:
    answer = yield write
    return PROBLEMS[answer.problem] if answer.problem else None


def _parse_leader(lease: str, text: str) -> FenceLeader | None:
    """None: this version of the program did not write it."""
    at, _, transitions = text.rpartition("/")
    try:
        found = FenceLeader(lease, datetime.fromisoformat(at), int(transitions))
    except ValueError:
        return None
    return found if found.lease_created_at.tzinfo else None
