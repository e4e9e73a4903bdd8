"""What `plimsoll.v1.Domains` asks of a backend on Ceph, the same for images and directories."""

from collections.abc import Mapping, Sequence

from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.processes.driver.backends.ceph.domains.cluster_domains import ClusterDomains
from plimsoll.processes.driver.backends.ceph.domains.cluster_fences import ClusterFences
from plimsoll.processes.driver.domains.protocol import DomainCondition


class FencesCephDomains:
    """A part of backends, which set both."""

    fence_keeper: ClusterFences
    _domains: ClusterDomains

    async def pool_copies(self, domain: Mapping[str, str]) -> Sequence[PoolCopies]:
        return await self._domains.pool_copies(domain)

    async def storage_condition(self, domain: Mapping[str, str]) -> DomainCondition:
        return await self._domains.storage_condition(domain)

    async def fence(self, domain: Mapping[str, str]) -> None:
        await self.fence_keeper.fence(domain, None)

    async def release(self, domain: Mapping[str, str]) -> None:
        await self.fence_keeper.release(domain, None)
