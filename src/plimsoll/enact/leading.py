"""Acting only while holding a lease: of several copies of a process one leads, the others wait.

The lease is written by a client of its own. All other writes of the leader go through clients that
ask the fence (`KubeClient.fenced`), so that none is made once another copy could lead.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from plimsoll.api.meta import ObjectKey
from plimsoll.enact.lease_store import KubeLeaseStore
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.leading.leader import Election, ElectionSettings
from plimsoll.wire.kube import KubeClient


class LeadershipLostError(Exception):
    """Another copy may act by now: this process has to end, and be started again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidacy:
    lease: ObjectKey
    pace: ElectionSettings
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of a lease that is made anew."""


async def lead_as(
    client: KubeClient,
    candidacy: Candidacy,
    lead: Callable[[], Awaitable[None]],
    *,
    fence: Fence,
) -> None:
    """Wait for the lease, then lead until cancelled. Raises LeadershipLostError.

    `fence` is what everything that leads asks before each of its effects.
    """
    store = KubeLeaseStore(client, candidacy.lease, candidacy.labels)
    election = Election(candidacy.pace, store, client.clock, client.chance, fence=fence)
    await election.run(lead)
    raise LeadershipLostError("leadership was lost; another copy may act now")
