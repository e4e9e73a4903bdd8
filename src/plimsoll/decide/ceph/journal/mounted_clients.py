"""Clients that nodes have mounted volumes with, in the directory of a journal.

Volumes that any number of nodes may write to have no lease. Each node writes down the client that
it mounts a volume with, before a pod can use it, and only while neither its domain nor a wider one
is fenced, all in one write. So a driver that fences a domain finds every client that could write
there.
"""

from collections.abc import Mapping

from plimsoll.decide.ceph.journal.fences import Domain, fence_keys
from plimsoll.decide.ceph.journal.key_steps import read_keys, remove_keys, set_keys
from plimsoll.decide.ceph.journal.operations import (
    JournalProblem,
    RadosSteps,
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
    expected = dict.fromkeys(fence_keys(topology), "")
    return (yield from set_keys(journal.directory, {key: client}, expected=expected))


def drop_client(journal: CephJournal, key: str) -> RadosSteps[JournalProblem | None]:
    """It has ended, or can write no more."""
    return (yield from remove_keys(journal.directory, key))


def list_clients(journal: CephJournal) -> RadosSteps[Mapping[str, str] | JournalProblem]:
    """By their keys."""
    return (yield from read_keys(journal.directory, prefix=CLIENT))
