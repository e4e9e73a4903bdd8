"""Acting only while holding a lease: of several copies of a process one leads, the others wait."""

from collections.abc import Awaitable, Callable, Mapping

from plimsoll.api.meta import ObjectKey
from plimsoll.enact.lease_store import KubeLeaseStore
from plimsoll.runtime.leader import Election, ElectionSettings
from plimsoll.wire.kube import KubeClient


class LeadershipLostError(Exception):
    """Another copy may act by now: this process has to end, and be started again."""


async def lead_alone(
    client: KubeClient, lease: ObjectKey, identity: str, lead: Callable[[], Awaitable[None]]
) -> None:
    """Wait for the lease, then lead until cancelled. Raises LeadershipLostError."""
    await lead_as(client, lease, ElectionSettings(identity=identity), lead)


async def lead_as(
    client: KubeClient,
    lease: ObjectKey,
    settings: ElectionSettings,
    lead: Callable[[], Awaitable[None]],
    *,
    labels: Mapping[str, str] | None = None,
) -> None:
    """The same at another pace; `labels` are those of a lease that is made anew."""
    store = KubeLeaseStore(client, lease, labels or {})
    await Election(settings, store, client.clock, client.chance).run(lead)
    raise LeadershipLostError("leadership was lost; another copy may act now")
