"""Clients of a provisioner: for the API server, at a rate for each purpose, and for the driver."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.csi.fenced import FencedCsi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.transport import CsiTransport
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access
from plimsoll.wire.limited import LimitedTransport

COMPONENT = "plimsoll-provisioner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Whom the process talks to."""

    kube: KubeClient
    capacity: KubeClient
    """For capacity objects: slower, so that they never keep provisioning waiting."""
    election: KubeClient
    """For the lease of the leader: a renewal that waits for its turn could come too late."""
    driver: CsiTransport
    clock: Clock

    def fenced(self, fence: Fence) -> "Clients":
        """All but the one for the election, which has to get through."""
        return replace(
            self,
            kube=self.kube.fenced(fence),
            capacity=self.capacity.fenced(fence),
            driver=FencedCsi(self.driver, fence),
        )

    async def close(self) -> None:
        for client in (self.kube, self.capacity, self.election):
            await client.close()


class DriverLostError(Exception):
    """The connection to the driver broke: the process has to be started again."""


async def while_connected(transport: GrpcTransport, running: Coroutine[Any, Any, None]) -> None:
    """Raises DriverLostError, and what is running raises."""
    work, lost = asyncio.ensure_future(running), asyncio.ensure_future(transport.lost())
    try:
        await asyncio.wait((work, lost), return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = work.done()
        for task in (work, lost):
            task.cancel()
        await asyncio.gather(work, lost, return_exceptions=True)
    if not ended:
        raise DriverLostError("the connection to the driver is lost; start again")
    work.result()


def clients_of(settings: ProvisionerFlags, driver: CsiTransport, clock: Clock) -> Clients:
    """Raises KubeconfigError."""
    # As in `wire.connect`: a provisioner that gets its clients from outside needs none of it.
    from plimsoll.wire.http import HttpTransport  # noqa: PLC0415

    found = KubeconfigEnvironment(environment=environment(), clock=clock)
    access = find_access(ConnectionOptions(kubeconfig=settings.kubeconfig), found)
    if settings.master:
        access = replace(access, server=settings.master)

    def client(per_second: float, burst: int) -> KubeClient:
        http = HttpTransport(access, user_agent=COMPONENT)
        limited = LimitedTransport(http, clock, per_second=per_second, burst=burst)
        return KubeClient(limited, clock=clock, chance=system_chance(), manager=COMPONENT)

    return Clients(
        kube=client(settings.kube_api_qps, settings.kube_api_burst),
        capacity=client(settings.kube_api_capacity_qps, settings.kube_api_capacity_burst),
        election=client(settings.kube_api_qps, settings.kube_api_burst),
        driver=driver,
        clock=clock,
    )
