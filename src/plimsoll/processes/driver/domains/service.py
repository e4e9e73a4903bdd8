"""`plimsoll.v1.Domains`: fences, and what callers need to know before they ask for one.

A call goes on when its caller has gone away. After a crash at any point the caller finds the domain
neither fenced nor released, and repeats its call.
"""

from collections.abc import Awaitable, Callable

from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.processes.driver.controller.placement import Segment
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.domains.fences import domain_id, is_in
from plimsoll.processes.driver.domains.protocol import (
    DomainBackend,
    FencedNode,
)
from plimsoll.processes.driver.records import FencePhase, RecordPhase, VolumeRecord
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.refusals import invalid_argument
from plimsoll.wire.csi.server import answering


class DomainService:
    def __init__(self, driver: Driver, backend: DomainBackend) -> None:
        self._driver = driver
        self._backend = backend

    def handlers(self) -> dict[str, Handler]:
        return dict(
            [
                answering(m.FENCE_DOMAIN, self.fence_domain),
                answering(m.RELEASE_DOMAIN, self.release_domain),
                answering(m.GET_DOMAIN, self.get_domain),
                answering(m.LIST_DOMAINS, self.list_domains),
            ]
        )

    async def fence_domain(self, request: pb.FenceDomainRequest) -> pb.FenceDomainResponse:
        domain = self._parse(request.domain)
        fences = self._driver.fences

        async def fence() -> None:
            if fences.is_fenced(domain):
                return
            fences.record(domain, FencePhase.FENCING)
            await self._on_nodes(domain, lambda node, volume: node.withhold(volume))
            await self._backend.fence(domain)
            fences.record(domain, FencePhase.FENCED)

        await self._driver.work.alone(fence, _key(domain))
        return pb.FenceDomainResponse()

    async def release_domain(self, request: pb.ReleaseDomainRequest) -> pb.ReleaseDomainResponse:
        domain = self._parse(request.domain)
        fences = self._driver.fences

        async def release() -> None:
            if domain_id(domain) not in {each.id for each in fences.all()}:
                return
            fences.record(domain, FencePhase.RELEASING)
            await self._backend.release(domain)
            await self._on_nodes(domain, lambda node, volume: node.restore(volume))
            fences.forget(domain)

        await self._driver.work.alone(release, _key(domain))
        return pb.ReleaseDomainResponse()

    async def get_domain(self, request: pb.GetDomainRequest) -> pb.GetDomainResponse:
        return pb.GetDomainResponse(domain=await self._described(self._parse(request.domain)))

    async def list_domains(self, _: pb.ListDomainsRequest) -> pb.ListDomainsResponse:
        domains = [await self._described(each.domain) for each in self._driver.fences.all()]
        return pb.ListDomainsResponse(domains=domains)

    async def _described(self, domain: Segment) -> pb.Domain:
        storage = await self._backend.storage_condition(domain)
        return pb.Domain(
            domain=csi.Topology(segments=dict(domain)),
            fenced=self._driver.fences.is_fenced(domain),
            pools=[_pool(each) for each in await self._backend.pool_copies(domain)],
            storage=storage.value,
        )

    def _parse(self, given: csi.Topology) -> Segment:
        domain = dict(given.segments)
        if not domain:
            raise invalid_argument("domain: must be given")
        return domain

    async def _on_nodes(
        self, domain: Segment, work: Callable[[FencedNode, VolumeRecord], Awaitable[None]]
    ) -> None:
        """Each volume in its turn: what a node has begun with it before the fence is waited for."""
        inside = [each for each in self._driver.fenced_nodes if is_in(each.node.topology, domain)]
        volumes = self._driver.records.volumes
        for _, known in await volumes.numbered() if inside else ():
            for node in inside:
                async with self._driver.turn(known.id):
                    volume = await volumes.find(known.id)
                    if volume is not None and volume.phase is RecordPhase.READY:
                        await work(node, volume)


def domain_handlers(driver: Driver) -> dict[str, Handler]:
    """None for a backend whose domains cannot be fenced: its calls are answered UNIMPLEMENTED."""
    backend = driver.backend
    return DomainService(driver, backend).handlers() if isinstance(backend, DomainBackend) else {}


def _key(domain: Segment) -> str:
    return f"domain {domain_id(domain)}"


def _pool(copies: PoolCopies) -> pb.DomainPool:
    return pb.DomainPool(
        name=copies.pool, size=copies.size, min_size=copies.min_size, inside=copies.inside
    )
