"""Fenced domains in the directory of a journal: no node in one begins to write to an image.

A domain is a set of topology labels, or of the wider ones of them. Its key is in the same object as
the leases of writers, so that a node which takes a lease compares in the same write that neither
its domain nor a wider one is fenced. Leaders of the controller are in it, too (`fence_leaders`).
"""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from plimsoll.decide.ceph.journal.fence_leaders import (
    FenceLeader,
    FenceSteps,
    NewerLeader,
    write_as,
)
from plimsoll.decide.ceph.journal.key_steps import read_keys
from plimsoll.decide.ceph.journal.operations import (
    JournalProblem,
    ObjectCreation,
    RadosSteps,
    WriteRadosObject,
)
from plimsoll.decide.ceph.journal.places import CephJournal

FENCED = "plimsoll.fenced."
MOST_LABELS = 6
"""Of a node; each of their combinations may be a domain."""

Domain = Mapping[str, str]


class FenceState(StrEnum):
    BEGUN = "Begun"
    """No node in the domain gets a lease any more; some may have one."""
    COMPLETE = "Complete"
    """No client in the domain can write any more."""


STATES = frozenset(FenceState)


class FencedDomain(NamedTuple):
    domain: Domain
    state: FenceState


def fence_key(domain: Domain) -> str:
    return FENCED + json.dumps(dict(domain), sort_keys=True, separators=(",", ":"))


def fence_keys(topology: Domain) -> Iterator[str]:
    """Of every domain that a node with these labels is in."""
    labels = sorted(topology.items())[:MOST_LABELS]
    for number in range(1, len(labels) + 1):
        yield from (fence_key(dict(chosen)) for chosen in combinations(labels, number))


def is_within(topology: Domain, domain: Domain) -> bool:
    return bool(domain) and all(topology.get(key) == value for key, value in domain.items())


def write_fence(
    journal: CephJournal, domain: Domain, state: FenceState, leader: FenceLeader | None = None
) -> FenceSteps:
    """From here on no node of the domain gets a lease."""
    write = WriteRadosObject(
        object=journal.directory,
        creation=ObjectCreation.IDEMPOTENT,
        values={fence_key(domain): state},
    )
    return (yield from write_as(leader, write))


def confirm_fence(
    journal: CephJournal, domain: Domain, leader: FenceLeader | None = None
) -> RadosSteps[bool | JournalProblem | NewerLeader]:
    """Whether the fence is complete; then no earlier leader ends it any more."""
    complete = {fence_key(domain): FenceState.COMPLETE.value}
    found = yield from read_keys(journal.directory, *complete)
    if isinstance(found, JournalProblem):
        return found
    if found != complete or leader is None:
        return found == complete
    write = WriteRadosObject(object=journal.directory, expected=complete)
    problem = yield from write_as(leader, write)
    if problem in (JournalProblem.CHANGED, JournalProblem.KEY_NOT_FOUND):
        return False
    return problem or True


def remove_fence(
    journal: CephJournal, domain: Domain, leader: FenceLeader | None = None
) -> FenceSteps:
    write = WriteRadosObject(object=journal.directory, removed=(fence_key(domain),))
    problem = yield from write_as(leader, write)
    # A journal without its directory has no fence.
    return None if problem is JournalProblem.KEY_NOT_FOUND else problem


def list_fences(journal: CephJournal) -> RadosSteps[tuple[FencedDomain, ...] | JournalProblem]:
    found = yield from read_keys(journal.directory, prefix=FENCED)
    if isinstance(found, JournalProblem):
        return found
    return tuple(
        FencedDomain(domain, FenceState(state))
        for key, state in found.items()
        if (domain := _parse_domain(key.removeprefix(FENCED))) is not None and state in STATES
    )


def _parse_domain(text: str) -> Domain | None:
    """None: a key that none of these drivers wrote."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
