"""What loops that call drivers share: the drivers, and retries that grow longer.

A failure is written down, which is a write that goes through; so, unlike in other loops, it is not
the write but the call that says whether to try again soon.
"""

import asyncio
import logging
from abc import abstractmethod
from dataclasses import dataclass, field

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.plan import Plan
from plimsoll.enact.enactor import Done
from plimsoll.processes.controller.csi.driver_calls import DriverCalls
from plimsoll.processes.controller.csi.drivers import DriverSources, KnownDrivers
from plimsoll.reconcile.loop import Loop, Tools

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsiSettings:
    sources: DriverSources = field(default_factory=DriverSources)
    tells_metadata: bool = False
    """Whether drivers are told, by parameters, for which objects they work."""


NO_DRIVERS = CsiSettings()


class CsiLoop(Loop):
    def __init__(self, tools: Tools, settings: CsiSettings = NO_DRIVERS) -> None:
        super().__init__(tools)
        self.settings = settings
        self.drivers = KnownDrivers(settings.sources, tools.clock, tools.fence)
        self.drivers.on_change(self.driver_came)
        self.driver_calls = DriverCalls(tools.client)

    @abstractmethod
    def driver_came(self, name: str) -> None:
        """Add the keys of everything that waits for this driver."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(), name=self.name)
            group.create_task(self.drivers.run(), name=f"drivers of {self.name}")

    async def record(self, key: ObjectKey, plan: Plan) -> bool:
        """Make the writes of a plan; if they do not go through, the key comes back by itself."""
        if plan.writes:
            log.debug("decided", extra={"loop": self.name, "key": str(key), "why": plan.reason})
        outcome = await self.tools.enactor.enact(plan)
        if plan.recheck_after is not None:
            self.queue.add_after(key, plan.recheck_after)
        if isinstance(outcome, Done):
            self.tools.observed.written(outcome.left)
            return True
        self.queue.add_rate_limited(key)
        return False

    async def failed(self, key: ObjectKey, plan: Plan) -> None:
        """Write down what went wrong, and try again after a while that grows."""
        if await self.record(key, plan):
            self.queue.add_rate_limited(key)

    async def succeeded(self, key: ObjectKey, plan: Plan) -> None:
        if await self.record(key, plan):
            self.queue.forget(key)
