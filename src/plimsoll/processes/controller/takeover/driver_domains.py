"""What a driver says and does of domains and their fences: `plimsoll.v1.Domains`."""

from collections.abc import Collection
from dataclasses import dataclass

from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.decide.ceph.takeover.served_labels import DomainPath
from plimsoll.decide.ceph.takeover.view import domain_segment, find_domain_path
from plimsoll.processes.controller.csi.drivers import KnownDrivers
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb

NO_DOMAINS = f"{methods.DOMAINS}, so it cannot fence a domain"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainFencesSeen:
    fenced: tuple[DomainPath, ...] = ()
    closed: tuple[DomainPath, ...] = ()
    """Those whose fence was begun, or is being ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainsNotKnown:
    """The driver does not answer."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceNotConfirmed:
    why: str
    is_certain: bool
    """Whether nothing may count on the fence. If not, it may be there, and be confirmed later."""


class DriverDomains:
    def __init__(self, domains: DomainLabels, drivers: KnownDrivers) -> None:
        self._domains = domains
        self._drivers = drivers
        self.confirmed: set[DomainPath] = set()
        """Those that the driver has fenced for this process, or found fenced when it was asked."""

    async def find_fences(self) -> DomainFencesSeen | DomainsNotKnown:
        try:
            request = pb.ListDomainsRequest()
            answer = await self._client().call(methods.LIST_DOMAINS, request)
        except DriverError as error:
            return DomainsNotKnown(why=self._explained(error))
        paths = [
            (path, each.fenced)
            for each in answer.domains
            if (path := find_domain_path(self._domains, dict(each.domain.segments)))
        ]
        return DomainFencesSeen(
            fenced=tuple(path for path, is_fenced in paths if is_fenced),
            closed=tuple(path for path, is_fenced in paths if not is_fenced),
        )

    async def find_copies(self, domain: DomainPath) -> Collection[PoolCopies] | None:
        """Of the pools that have data in the domain; None: the driver does not answer."""
        request = pb.GetDomainRequest(domain=self._topology(domain))
        try:
            answer = await self._client().call(methods.GET_DOMAIN, request)
        except DriverError:
            return None
        return tuple(
            PoolCopies(pool=each.name, size=each.size, min_size=each.min_size, inside=each.inside)
            for each in answer.domain.pools
        )

    async def fence(self, domain: DomainPath) -> str:
        """Why it is not fenced; empty: it is."""
        request = pb.FenceDomainRequest(domain=self._topology(domain))
        try:
            await self._client().call(methods.FENCE_DOMAIN, request)
        except DriverError as error:
            return self._explained(error)
        self.confirmed.add(domain)
        return ""

    async def confirm(self, domain: DomainPath) -> FenceNotConfirmed | None:
        """None: it is fenced, and no former leader can end that."""
        request = pb.ConfirmFenceRequest(domain=self._topology(domain))
        try:
            await self._client().call(methods.CONFIRM_FENCE, request)
        except DriverError as error:
            is_certain = error.failure in (DriverFailure.WRONG_STATE, DriverFailure.UNSUPPORTED)
            lacks = f"{methods.CONFIRM_FENCE.call}, which later versions have"
            return FenceNotConfirmed(why=self._explained(error, lacks), is_certain=is_certain)
        self.confirmed.add(domain)
        return None

    async def release(self, domain: DomainPath) -> str:
        """Why it is not released; empty: it is."""
        request = pb.ReleaseDomainRequest(domain=self._topology(domain))
        self.confirmed.discard(domain)
        try:
            await self._client().call(methods.RELEASE_DOMAIN, request)
        except DriverError as error:
            return self._explained(error)
        return ""

    def _client(self) -> CsiClient:
        """Raises DriverError while the driver is not there."""
        driver = self._drivers.find(self._domains.driver)
        if driver is None:
            detail = "it is not there; name its socket by --csi-address"
            raise DriverError(
                DriverFailure.UNREACHABLE, method=methods.LIST_DOMAINS.name, detail=detail
            )
        return driver.client

    def _topology(self, domain: DomainPath) -> csi.Topology:
        return csi.Topology(segments=domain_segment(self._domains, domain))

    def _explained(self, error: DriverError, lacks: str = NO_DOMAINS) -> str:
        name = self._domains.driver
        if error.failure is DriverFailure.UNSUPPORTED:
            return f"driver {name} has no {lacks}"
        return f"driver {name}: {error.detail}"
