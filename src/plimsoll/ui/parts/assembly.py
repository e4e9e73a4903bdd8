"""Several processes in one event loop: each is a part, started again by itself when it fails.

A part is what a process does between its connections and its signals: `control_plane` and
`machine` make them. It gets everything that would tell a simulation from the real thing from
outside: clients, identity, clock, transports.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta

from plimsoll.reconcile.process import ProcessIdentity
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.transport import CsiTransport
from plimsoll.wire.health import OK, Pages, ServedPage, not_yet
from plimsoll.wire.kube import KubeClient


class PartLife:
    """What a part tells of itself, from one start to the next."""

    def __init__(self) -> None:
        self.pages: Pages = {}
        self._begun = asyncio.Event()

    @property
    def has_begun(self) -> bool:
        return self._begun.is_set()

    def begin(self) -> None:
        """The part does its work, or has waited for long enough for what it needs."""
        self._begun.set()

    async def begun(self) -> None:
        await self._begun.wait()


Part = Callable[[PartLife], Awaitable[None]]
"""Lives until cancelled, or until it fails; called anew for each life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartEnvironment:
    """What parts are put into."""

    clock: Clock
    client: Callable[[str], KubeClient]
    """A new one for a component."""
    identity: Callable[[], ProcessIdentity]
    """A new one for each life: counters begin at zero, as those of a process do."""
    transport: Callable[[str], CsiTransport] = GrpcTransport
    """To the driver at an address; the part closes it."""
    transports: Mapping[str, CsiTransport] = field(default_factory=dict)
    """Drivers that the controller calls without a socket, by name."""

    async def connected(self, stack: AsyncExitStack, component: str) -> KubeClient:
        """A new client that the stack closes."""
        client = self.client(component)
        stack.push_async_callback(client.close)
        return client


def begun_within(limit: timedelta, part: Part, clock: Clock) -> Part:
    """The part counts as begun after the limit: what it waits for may be away for long."""

    async def live(life: PartLife) -> None:
        async def begin_late() -> None:
            await clock.sleep(limit)
            life.begin()

        late = asyncio.ensure_future(begin_late())
        try:
            await part(life)
        finally:
            late.cancel()
            await asyncio.gather(late, return_exceptions=True)

    return live


class Assembly:
    """Parts by name, in the order in which they start; they end in the reverse order.

    Until all of them have begun once, a bug or a bad setting of one ends all: what a user can mend
    is told at once. From then on a part that fails is started again, and the others go on.
    """

    def __init__(self, parts: Mapping[str, Part], supervision: Supervision) -> None:
        self._parts = parts
        self._supervision = replace(supervision, on_failure=self._failed)
        self._lives = {name: PartLife() for name in parts}
        self._all_begun = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._parts)

    def pages(self, name: str) -> Pages:
        """Of the present life of a part, whichever that is."""
        return _PresentPages(lambda: self._lives[name])

    def ready(self) -> ServedPage:
        missing = [name for name, life in self._lives.items() if not life.has_begun]
        return not_yet(f"not begun yet: {', '.join(missing)}") if missing else OK

    async def run(self, on_begin: Callable[[], None]) -> None:
        """Until cancelled. Raises what ends a part before all of them have begun."""
        tasks = [asyncio.ensure_future(self._begun(on_begin))]
        tasks += [asyncio.ensure_future(self._kept(name)) for name in self._parts]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            for task in reversed(tasks):
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _begun(self, on_begin: Callable[[], None]) -> None:
        for life in tuple(self._lives.values()):
            await life.begun()
        self._all_begun = True
        on_begin()

    async def _kept(self, name: str) -> None:
        async def live() -> None:
            if self._all_begun:
                self._lives[name] = PartLife()
            await self._parts[name](self._lives[name])

        await supervise({name: live}, self._supervision)

    def _failed(self, name: str, error: Exception) -> None:
        del name
        if not self._all_begun and not isinstance(error, self._supervision.expected):
            raise error


class _PresentPages(Pages):
    def __init__(self, life: Callable[[], PartLife]) -> None:
        self._life = life

    def __getitem__(self, path: str) -> Callable[[], ServedPage]:
        return self._life().pages[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._life().pages)

    def __len__(self) -> int:
        return len(self._life().pages)
