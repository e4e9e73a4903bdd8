"""Events about takeovers: what lasts is told once in a while, not at every look."""

from collections.abc import Iterable

from plimsoll.decide.plan import Emit, Plan
from plimsoll.enact.enactor import Enactor
from plimsoll.runtime.clock import Clock

TELL_AGAIN_SECONDS = 30 * 60.0
"""Servers keep events for an hour."""


class TakeoverNotices:
    def __init__(self, enactor: Enactor, clock: Clock) -> None:
        self._enactor = enactor
        self._clock = clock
        self._told: dict[tuple[str, str], float] = {}
        """When it was told, by reason and message."""

    async def tell(self, *events: Emit) -> None:
        for event in events:
            await self._enactor.enact(Plan(reason=event.reason, writes=(event,)))

    async def tell_while_it_lasts(self, events: Iterable[Emit]) -> None:
        """All that is so at this look: what is told of it again is what was not so before."""
        now = self._clock.monotonic()
        lasting = {(event.reason, event.message): event for event in events}
        due = now - TELL_AGAIN_SECONDS
        self._told = {what: at for what, at in self._told.items() if what in lasting and at > due}
        for what, event in lasting.items():
            if what not in self._told:
                self._told[what] = now
                await self.tell(event)
