"""The lease that tells when this publisher last looked at everything."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.core import Lease
from plimsoll.api.typed import from_document
from plimsoll.decide.capacity.freshness import PublisherHeartbeat, decide_lease, publisher_lease
from plimsoll.decide.capacity.reports import CapacitySettings
from plimsoll.decide.capacity.rounds import Rounds
from plimsoll.enact.enactor import Done, Enactor
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)

LEASES = typed(Lease)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherIdentity:
    """The publisher that holds the lease, and how long its numbers are to be believed."""

    holder: str
    began_at: datetime
    lasts: timedelta


class PublisherLease:
    def __init__(
        self,
        client: KubeClient,
        enactor: Enactor,
        settings: CapacitySettings,
        publisher: PublisherIdentity,
    ) -> None:
        self._client = client
        self._enactor = enactor
        self._settings = settings
        self._publisher = publisher
        self._known: Lease | None = None
        self._told_at: datetime | None = None

    async def renew(self, rounds: Rounds) -> None:
        """Once for each round that was completed. If it fails, the next round is soon enough: where
        leases are forbidden, numbers are published all the same."""
        looked_at = rounds.looked_at
        if looked_at is None or looked_at == self._told_at:
            return
        self._told_at = looked_at
        heartbeat = PublisherHeartbeat(
            holder=self._publisher.holder,
            began_at=self._publisher.began_at,
            looked_at=looked_at,
            lasts=self._publisher.lasts,
            oldest_report_at=rounds.oldest_report_at,
            unanswered=rounds.unanswered_count,
        )
        await self._tell(heartbeat)

    async def _tell(self, heartbeat: PublisherHeartbeat) -> None:
        try:
            if self._known is None:
                key = publisher_lease(self._settings)
                self._known = await self._client.find(LEASES, key)
        except KubeError as error:
            log.warning("lease not read", extra={"error": str(error)})
            return
        outcome = await self._enactor.enact(decide_lease(self._known, heartbeat, self._settings))
        # Any other change will be seen when it is read again.
        written = outcome.left if isinstance(outcome, Done) else ()
        self._known = from_document(Lease, written[0]) if written else None
