"""Fences of a driver that is alone with its storage, in its ledger.

A fence is recorded before anything is done for it, and as complete after everything was: the caller
of a driver that crashed in between finds it neither complete nor gone, and repeats its call.
The ledger has the epochs of all callers as well, so that `EpochGate` alone refuses former leaders.
"""

from collections.abc import Awaitable, Callable, Sequence

from plimsoll.processes.driver.controller.placement import Segment
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.domains.fences import domain_id, is_in
from plimsoll.processes.driver.domains.protocol import DomainBackend, FencedNode
from plimsoll.processes.driver.records import FencePhase, RecordPhase, VolumeRecord
from plimsoll.runtime.leading.epoch import LeaderEpoch


class LedgerFences:
    def __init__(self, driver: Driver, backend: DomainBackend) -> None:
        self._driver = driver
        self._backend = backend
        self._fences = driver.fences

    async def domains(self) -> Sequence[Segment]:
        return [each.domain for each in self._fences.all()]

    async def is_fenced(self, domain: Segment) -> bool:
        return self._fences.is_fenced(domain)

    async def fence(self, domain: Segment, caller: LeaderEpoch | None) -> None:  # noqa: ARG002
        if self._fences.is_fenced(domain):
            return
        self._fences.record(domain, FencePhase.FENCING)
        await self._on_nodes(domain, lambda node, volume: node.withhold(volume))
        await self._backend.fence(domain)
        self._fences.record(domain, FencePhase.FENCED)

    async def confirm(self, domain: Segment, caller: LeaderEpoch | None) -> bool:  # noqa: ARG002
        return self._fences.is_fenced(domain)

    async def release(self, domain: Segment, caller: LeaderEpoch | None) -> None:  # noqa: ARG002
        if domain_id(domain) not in {each.id for each in self._fences.all()}:
            return
        self._fences.record(domain, FencePhase.RELEASING)
        await self._backend.release(domain)
        await self._on_nodes(domain, lambda node, volume: node.restore(volume))
        self._fences.forget(domain)

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
