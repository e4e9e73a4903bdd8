"""The interface of backends whose domains can be taken over.

The services record a fence before the backend is asked for it, and let no volume be attached,
staged or published in the domain from then on. Of the nodes that the driver itself serves they take
away what is mounted there. The backend keeps out the others: what is not served by this driver, or
does not listen to it any more.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.processes.driver.controller.placement import Segment
from plimsoll.processes.driver.records import VolumeRecord
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.runtime.leading.epoch import LeaderEpoch


class DomainCondition(StrEnum):
    UNKNOWN = "UNKNOWN"
    UP = "UP"
    DOWN = "DOWN"


@runtime_checkable
class DomainBackend(Protocol):
    async def pool_copies(self, domain: Segment) -> Sequence[PoolCopies]:
        """Of every pool that has data in the domain, by name."""
        ...

    async def storage_condition(self, domain: Segment) -> DomainCondition:
        """Of what stores data in the domain."""
        ...

    async def fence(self, domain: Segment) -> None:
        """Return when no node in the domain can write any more; repeatable."""
        ...

    async def release(self, domain: Segment) -> None:
        """Let the nodes in the domain write again; repeatable."""
        ...


class FenceKeeper(Protocol):
    """Which domains are fenced, for as long as that is so, whatever crashes.

    `caller` is the leader that asks, if it says so: one that another leader has followed is refused
    here too, if that one may have asked another driver.
    """

    async def domains(self) -> Sequence[Segment]:
        """Every one whose fence was begun and is not released yet."""
        ...

    async def is_fenced(self, domain: Segment) -> bool:
        """Whether nothing in it can write any more."""
        ...

    async def fence(self, domain: Segment, caller: LeaderEpoch | None) -> None: ...

    async def confirm(self, domain: Segment, caller: LeaderEpoch | None) -> bool:
        """Whether nothing in it can write any more. If so, no earlier leader than the caller ends
        that; if not, no fence is begun."""
        ...

    async def release(self, domain: Segment, caller: LeaderEpoch | None) -> None: ...


@runtime_checkable
class KeepsFences(Protocol):
    """Of a backend whose storage remembers fences, for all drivers that share it."""

    @property
    def fence_keeper(self) -> FenceKeeper: ...


class FencedNode(Protocol):
    """What a fence does on one node that this driver serves."""

    @property
    def node(self) -> NodeSettings: ...

    async def withhold(self, volume: VolumeRecord) -> None:
        """Return when the volume cannot be written to on this node."""
        ...

    def can_write(self, volume: VolumeRecord) -> bool:
        """Whether it is mounted on this node, and not read-only."""
        ...

    async def restore(self, volume: VolumeRecord) -> None:
        """Undo that, as far as the volume is still attached to this node."""
        ...
