"""The shell of every process around its work: a connection, an election, pages of health and
metrics, signals.

A process connects (`connected`), serves its pages and works until a signal ends it
(`run_until_signalled`). One that works through loops does so through `LoopProcess`: of several
copies that elect a leader only one works, and everything that it does asks the same fence.
"""

from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.plan import ResourceName
from plimsoll.enact.leading import Candidacy, lead_as
from plimsoll.reconcile.options import LeaderOptions
from plimsoll.reconcile.running import LoopEnvironment
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import ConfigError, environment
from plimsoll.runtime.ids import Ids, hostname, system_chance, system_ids
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.leading.leader import ElectionSettings
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.signals import until_signalled
from plimsoll.wire.connect import connect
from plimsoll.wire.health import LOOPBACK, OK, Pages, ServedPage, not_yet, serving, usual_pages
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

OnReady = Callable[[str], None]
"""Is told once what the process is ready for, and its addresses, in one line."""


class ConnectionSettings(Protocol):
    """What the settings of a process say about its cluster."""

    @property
    def kubeconfig(self) -> str: ...
    @property
    def context(self) -> str: ...


@asynccontextmanager
async def connected(settings: ConnectionSettings, component: str) -> AsyncIterator[KubeClient]:
    """A client for as long as the block lasts. Raises KubeconfigError."""
    options = ConnectionOptions(kubeconfig=settings.kubeconfig, context=settings.context)
    found = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    client = connect(options, found, system_chance(), manager=component)
    try:
        yield client
    finally:
        await client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesAddress:
    port: int
    """0 takes a free one."""
    host: str = LOOPBACK
    """Empty: all addresses of the machine."""

    def url(self, port: int) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host or LOOPBACK
        return f"http://{host}:{port}"


async def run_until_signalled(
    work: Callable[[str], Coroutine[Any, Any, None]], pages: Pages, address: PagesAddress | None
) -> None:
    """Serve the pages, then work until SIGTERM or SIGINT.

    `work` gets the URL of the pages, which is empty where they have no address. Raises ListenError
    if the address cannot be served, and what `work` raises.
    """
    async with AsyncExitStack() as stack:
        url = ""
        if address is not None:
            served = serving(address.port, pages, host=address.host)
            url = address.url(await stack.enter_async_context(served))
        await until_signalled(work(url))


class LeaderWork(Protocol):
    """What a process does while it leads; made for one run."""

    @property
    def is_synced(self) -> bool: ...

    async def run(self) -> None:
        """Never returns; cancel it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """What tells one copy of a process from all others, and makes the names that it gives."""

    instance: str
    ids: Ids
    metrics: Metrics = field(default_factory=Metrics)


def system_identity(ids: Ids | None = None) -> ProcessIdentity:
    """The machine's name and an id that is never the same."""
    ids = ids or system_ids()
    return ProcessIdentity(instance=f"{hostname()}_{ids.uid()}", ids=ids)


class LoopProcess:
    """A process made of loops, but for its signals."""

    def __init__(
        self, client: KubeClient, *, elects: bool, identity: ProcessIdentity | None = None
    ) -> None:
        """`identity` is by default one that is never the same."""
        identity = identity or system_identity()
        self.client = client
        self.ids = identity.ids
        self.metrics = identity.metrics
        self.instance = identity.instance
        """Which of several copies this is."""
        self._elects = elects
        self.fence = Fence(client.clock) if elects else Fence.left_open(client.clock)
        self.work: LeaderWork | None = None
        """What the process does now; a process that needs no election may set it at once."""

    def pages(self) -> Pages:
        return usual_pages(self.metrics, self._ready)

    def _ready(self) -> ServedPage:
        """A copy that waits for leadership has nothing to get ready for."""
        is_ready = self.work is None or self.work.is_synced
        return OK if is_ready else not_yet("not everything was seen yet")

    def environment(
        self, component: str, unpatchable: Collection[ResourceName] = ()
    ) -> LoopEnvironment:
        """What the loops of this process are put into."""
        return LoopEnvironment(
            client=self.client,
            component=component,
            metrics=self.metrics,
            ids=self.ids,
            chance=self.client.chance,
            instance=self.instance,
            unpatchable=unpatchable,
            fence=self.fence,
        )

    def candidacy(self, lease: ObjectKey, options: LeaderOptions) -> Candidacy | None:
        """None: no leader is elected. Raises ConfigError.

        Without an identity that stays, a copy is known by its instance.
        """
        if not self._elects:
            return None
        try:
            pace = ElectionSettings(
                identity=options.leader_elect_identity or self.instance,
                lease_duration=options.leader_elect_lease_duration,
                renew_deadline=options.leader_elect_renew_deadline,
                retry_period=options.leader_elect_retry_period,
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
        return Candidacy(lease=lease, pace=pace)

    async def lead(
        self,
        begin: Callable[[], LeaderWork],
        candidacy: Candidacy | None,
        election_client: KubeClient | None = None,
    ) -> None:
        """Until cancelled. The work begins once this copy leads, at once without a candidacy.

        `election_client` writes the lease, where `client` is not to. Raises LeadershipLostError.
        """

        async def lead() -> None:
            self.work = begin()
            await self.work.run()

        if candidacy is None:
            await lead()
        else:
            await lead_as(election_client or self.client, candidacy, lead, fence=self.fence)
