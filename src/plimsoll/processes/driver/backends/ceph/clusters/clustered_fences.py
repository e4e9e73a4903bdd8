"""Fences of domains in all clusters of a driver: a node is in one domain, whatever it stores where.

A domain is fenced when it is in every one of them. While one does not answer nothing is told of
fences, and none is completed: its clients might still write.
"""

from collections.abc import Mapping, Sequence

from plimsoll.decide.ceph.journal.fences import Domain
from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import MemberClusters
from plimsoll.runtime.leading.epoch import LeaderEpoch


class ClusteredFences:
    """Every method raises CsiStatusError."""

    def __init__(self, members: MemberClusters) -> None:
        self._members = members

    async def domains(self) -> Sequence[Domain]:
        told = await self._members.ask_every(lambda each: each.backend.fence_keeper.domains())
        found = [domain for domains in told for domain in domains]
        return [each for at, each in enumerate(found) if each not in found[:at]]

    async def is_fenced(self, domain: Mapping[str, str]) -> bool:
        return all(
            await self._members.ask_every(lambda each: each.backend.fence_keeper.is_fenced(domain))
        )

    async def fence(self, domain: Mapping[str, str], caller: LeaderEpoch | None) -> None:
        await self._members.ask_every(lambda each: each.backend.fence_keeper.fence(domain, caller))

    async def confirm(self, domain: Mapping[str, str], caller: LeaderEpoch | None) -> bool:
        return all(
            await self._members.ask_every(
                lambda each: each.backend.fence_keeper.confirm(domain, caller)
            )
        )

    async def release(self, domain: Mapping[str, str], caller: LeaderEpoch | None) -> None:
        await self._members.ask_every(
            lambda each: each.backend.fence_keeper.release(domain, caller)
        )
