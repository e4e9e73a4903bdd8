"""Acting only while holding a lease: of several copies of a process one leads, the others wait."""

from collections.abc import Awaitable, Callable

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
    election = Election(
        ElectionSettings(identity=identity),
        KubeLeaseStore(client, lease),
        client.clock,
        client.chance,
    )
    await election.run(lead)
    raise LeadershipLostError("leadership was lost; another copy may act now")
