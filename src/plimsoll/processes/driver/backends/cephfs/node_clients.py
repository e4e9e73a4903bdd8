"""Which clients of this node may write: each is written down before a pod can use its mount.

A fence of the domain finds them there, from any driver of the cluster, and blocks them. What fails
after the client has started ends it again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from plimsoll.decide.ceph.journal.fences import is_within
from plimsoll.decide.ceph.journal.mounted_clients import (
    client_key,
    drop_client,
    is_client_of,
    list_clients,
    write_client,
)
from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.processes.driver.backends.ceph.ceph_cluster import (
    CephCluster,
    failures_of,
    node_fenced,
)
from plimsoll.processes.driver.backends.ceph.domains.located_nodes import LocatedNodes
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError

FindJournals = Callable[[], Awaitable[Sequence[CephJournal]]]


class MountedClient(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    address: str
    topology: Mapping[str, str]
    """The segment of the node, by which all clients of a domain are found."""


class NodeClients:
    """All methods but `end_all` raise CsiStatusError."""

    def __init__(self, cluster: CephCluster, journals: FindJournals, nodes: LocatedNodes) -> None:
        self._cluster = cluster
        self._journals = journals
        self._nodes = nodes

    async def check(self, name: str, node_id: str) -> None:
        """Before anything is mounted for the directory of that name, or mounted anew."""
        topology = self._nodes.at(node_id).topology
        with failures_of(f"directory {name}"):
            for journal in await self._journals():
                if await self._cluster.is_fenced(journal, topology):
                    raise node_fenced(f"directory {name}", node_id)

    async def admit(self, name: str, node_id: str, address: str) -> None:
        """It is mounted, and nothing shows it yet."""
        topology = self._nodes.at(node_id).topology
        text = msgspec.json.encode(MountedClient(address=address, topology=topology)).decode()
        key = client_key(node_id, name)
        with failures_of(f"directory {name}"):
            for journal in await self._journals():
                try:
                    await self._cluster.runner.run(write_client(journal, key, text, topology))
                except JournalError as error:
                    if error.problem is JournalProblem.CHANGED:
                        raise node_fenced(f"directory {name}", node_id) from error
                    raise

    async def forget(self, name: str, node_id: str) -> None:
        """It has ended."""
        with failures_of(f"directory {name}"):
            for journal in await self._journals():
                await self._cluster.runner.run(drop_client(journal, client_key(node_id, name)))

    async def forget_all(self, name: str) -> None:
        """The directory is removed: no node unmounts it in order any more, if it has died."""
        with failures_of(f"directory {name}"):
            for journal in await self._journals():
                listed: Mapping[str, str] = await self._cluster.runner.run(list_clients(journal))
                for key in listed:
                    if is_client_of(key, name):
                        await self._cluster.runner.run(drop_client(journal, key))

    async def end_all(self, journals: Sequence[CephJournal], domain: Mapping[str, str]) -> None:
        """Of nodes in a domain that is fenced. Raises CephError and JournalError."""
        for journal in journals:
            listed: Mapping[str, str] = await self._cluster.runner.run(list_clients(journal))
            for key, text in listed.items():
                client = _parse(text)
                if client is not None and is_within(client.topology, domain):
                    await self._cluster.block(client.address)
                    await self._cluster.runner.run(drop_client(journal, key))
        await self._cluster.enforce_blocks()


def _parse(text: str) -> MountedClient | None:
    try:
        return msgspec.json.decode(text, type=MountedClient)
    except msgspec.MsgspecError:
        return None
