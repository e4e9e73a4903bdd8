"""Clients that nodes have mounted volumes with, in the directory of a journal.

Volumes that any number of nodes may write to have no lease. Each node writes down the client that
it mounts a volume with, before a pod can use it, and only while neither its domain nor a wider one
is fenced, all in one write. So a driver that fences a domain finds every client that could write
there.
"""

from collections.abc import Mapping

from plimsoll.decide.ceph.journal.fences import Domain, fence_keys
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    JournalProblem,
    ObjectCreation,
    RadosProblem,
    RadosSteps,
    ReadKeys,
    WriteRadosObject,
)
from plimsoll.decide.ceph.journal.places import CephJournal

CLIENT = "plimsoll.client."


def client_key(node_id: str, asset: str) -> str:
    """One for each volume on a node: the client that is mounted next takes its place."""
    return f"{CLIENT}{node_id}/{asset}"


def is_client_of(key: str, asset: str) -> bool:
    """On whatever node it is mounted."""
    return key.startswith(CLIENT) and key.endswith(f"/{asset}")


def write_client(
    journal: CephJournal, key: str, client: str, topology: Domain
) -> RadosSteps[JournalProblem | None]:
    """`Changed`: the domain of a node with these labels is fenced."""
    answer = yield WriteRadosObject(
        object=journal.directory,
        creation=ObjectCreation.IDEMPOTENT,
        expected=dict.fromkeys(fence_keys(topology), ""),
        values={key: client},
    )
    return PROBLEMS[answer.problem] if answer.problem else None


def drop_client(journal: CephJournal, key: str) -> RadosSteps[JournalProblem | None]:
    """It has ended, or can write no more."""
    answer = yield WriteRadosObject(object=journal.directory, removed=(key,))
    if answer.problem in (None, RadosProblem.NOT_FOUND):
        return None
    return PROBLEMS[answer.problem]


def list_clients(journal: CephJournal) -> RadosSteps[Mapping[str, str] | JournalProblem]:
    """By their keys."""
    answer = yield ReadKeys(object=journal.directory, prefix=CLIENT)
    if answer.problem and answer.problem is not RadosProblem.NOT_FOUND:
        return PROBLEMS[answer.problem]
    return answer.values
