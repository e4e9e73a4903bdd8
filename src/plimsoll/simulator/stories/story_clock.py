"""The clock of a story: the event loop's virtual time, which passes only while the story waits."""

import asyncio
from datetime import datetime, timedelta

from plimsoll.runtime.clock import NO_TIME, SteppedClock
from plimsoll.simulator.engine.loop import EscapeError, VirtualLoop
from plimsoll.simulator.engine.process import ProcessClock


def virtual_loop() -> VirtualLoop:
    """The loop that runs now. Raises EscapeError if its time is real."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise EscapeError("a story runs in the event loop of the simulator: use run_virtually")
    return loop


class StoryClock(ProcessClock):
    """Shared by all processes of a cluster, and by the story; it begins when the cluster does."""

    def __init__(self) -> None:
        self._virtual = virtual_loop()
        super().__init__(self._virtual, ahead=-timedelta(seconds=self._virtual.time()))
        self._suspended = NO_TIME

    def now(self) -> datetime:
        return super().now() + self._suspended

    def boottime(self) -> float:
        return self.monotonic() + self._suspended.total_seconds()

    def suspend(self, duration: timedelta) -> None:
        """The machine sleeps: time passes for the world, but no alarm comes closer."""
        self._suspended += duration

    async def run(self, duration: timedelta) -> None:
        """Let that much time pass, and everything happen that is due by then."""
        await self.sleep(duration)
        await self._virtual.idle()


RunClock = StoryClock | SteppedClock
"""A clock that a story lets run. A SteppedClock is that of a machine whose alarms wait."""
