"""`plimsoll.v1.Domains`: fences, and what callers need to know before they ask for one.

A call goes on when its caller has gone away. After a crash at any point the caller finds the domain
neither fenced nor released, and repeats its call.
"""

from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.processes.driver.controller.placement import Segment
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.domains.fences import domain_id
from plimsoll.processes.driver.domains.ledger_fences import LedgerFences
from plimsoll.processes.driver.domains.protocol import DomainBackend, FenceKeeper, KeepsFences
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.epochs import parse_epoch
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.refusals import failed_precondition, invalid_argument
from plimsoll.wire.csi.server import answering, answering_with_metadata
from plimsoll.wire.csi.transport import Metadata


class DomainService:
    def __init__(self, driver: Driver, backend: DomainBackend) -> None:
        self._driver = driver
        self._backend = backend
        own = backend.fence_keeper if isinstance(backend, KeepsFences) else None
        self._keeper: FenceKeeper = own or LedgerFences(driver, backend)

    def handlers(self) -> dict[str, Handler]:
        return dict(
            [
                answering_with_metadata(m.FENCE_DOMAIN, self.fence_domain),
                answering_with_metadata(m.CONFIRM_FENCE, self.confirm_fence),
                answering_with_metadata(m.RELEASE_DOMAIN, self.release_domain),
                answering(m.GET_DOMAIN, self.get_domain),
                answering(m.LIST_DOMAINS, self.list_domains),
            ]
        )

    async def fence_domain(
        self, request: pb.FenceDomainRequest, metadata: Metadata
    ) -> pb.FenceDomainResponse:
        domain, caller = self._parse(request.domain), parse_epoch(metadata)
        await self._driver.work.alone(lambda: self._keeper.fence(domain, caller), _key(domain))
        return pb.FenceDomainResponse()

    async def confirm_fence(
        self, request: pb.ConfirmFenceRequest, metadata: Metadata
    ) -> pb.ConfirmFenceResponse:
        domain, caller = self._parse(request.domain), parse_epoch(metadata)
        key = _key(domain)
        if not await self._driver.work.alone(lambda: self._keeper.confirm(domain, caller), key):
            raise failed_precondition(
                f"{key}: it is not fenced, or not to the end, so nothing may count on its fence"
            )
        return pb.ConfirmFenceResponse()

    async def release_domain(
        self, request: pb.ReleaseDomainRequest, metadata: Metadata
    ) -> pb.ReleaseDomainResponse:
        domain, caller = self._parse(request.domain), parse_epoch(metadata)
        await self._driver.work.alone(lambda: self._keeper.release(domain, caller), _key(domain))
        return pb.ReleaseDomainResponse()

    async def get_domain(self, request: pb.GetDomainRequest) -> pb.GetDomainResponse:
        return pb.GetDomainResponse(domain=await self._described(self._parse(request.domain)))

    async def list_domains(self, _: pb.ListDomainsRequest) -> pb.ListDomainsResponse:
        domains = [await self._described(domain) for domain in await self._keeper.domains()]
        return pb.ListDomainsResponse(domains=domains)

    async def _described(self, domain: Segment) -> pb.Domain:
        storage = await self._backend.storage_condition(domain)
        return pb.Domain(
            domain=csi.Topology(segments=dict(domain)),
            fenced=await self._keeper.is_fenced(domain),
            pools=[_pool(each) for each in await self._backend.pool_copies(domain)],
            storage=storage.value,
        )

    def _parse(self, given: csi.Topology) -> Segment:
        domain = dict(given.segments)
        if not domain:
            raise invalid_argument("domain: must be given")
        return domain


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
