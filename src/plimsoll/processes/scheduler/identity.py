"""Tells on a lease, again and again, which pods this scheduler schedules, by which policy and by
which profile.

Scheduling never waits for it: where the scheduler may not write the lease, `explain` has to assume
the policy, and says so.
"""

import logging

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import resources_by_path
from plimsoll.decide.scheduling.policy import (
    RENEWED_EVERY,
    Announcement,
    identity_document,
)
from plimsoll.processes.scheduler.configuration.published import published_profiles
from plimsoll.processes.scheduler.settings import SchedulerSettings, trusted_namespaces
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import merge_patch

log = logging.getLogger(__name__)

LEASES = documents(resources_by_path()["coordination.k8s.io", "v1", "leases"])


class SchedulerIdentity:
    def __init__(self, settings: SchedulerSettings, client: KubeClient, holder: str) -> None:
        self._settings = settings
        self._client = client
        self._holder = holder
        self._has_failed = False

    async def run(self) -> None:
        """Never returns; cancel it."""
        began_at = self._client.clock.now()
        profiles = published_profiles(self._settings)
        while True:
            for name, profile in profiles.items():
                await self._announce(
                    Announcement(
                        scheduler_name=name,
                        policy=self._settings.policy,
                        holder=self._holder,
                        began_at=began_at,
                        record_namespaces=trusted_namespaces(self._settings),
                        now=self._client.clock.now(),
                        profile=profile,
                    )
                )
            await self._client.clock.sleep(RENEWED_EVERY)

    async def _announce(self, told: Announcement) -> None:
        document = identity_document(told, self._settings.leader_elect_namespace)
        key = ObjectKey(document["metadata"]["namespace"], document["metadata"]["name"])
        try:
            await self._client.patch(LEASES, key, merge_patch(document))
        except KubeError as error:
            if error.failure is Failure.NOT_FOUND:
                await self._create(document, key)
            else:
                self._report(key, error)
        else:
            self._has_failed = False

    async def _create(self, document: dict[str, object], key: ObjectKey) -> None:
        try:
            await self._client.create(LEASES, document)
        except KubeError as error:
            self._report(key, error)

    def _report(self, key: ObjectKey, error: KubeError) -> None:
        """Once: it is no news the next time."""
        level = logging.DEBUG if self._has_failed else logging.WARNING
        self._has_failed = True
        log.log(
            level,
            "policy not published; explain has to assume it",
            extra={"lease": str(key), "error": str(error)},
        )
