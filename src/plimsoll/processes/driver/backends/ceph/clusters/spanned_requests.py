"""One volume for each request, where a class has pools in several clusters.

The journal of the class decides in which of them: see `decide.ceph.journal.request_clusters`.
"""

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal
from plimsoll.decide.ceph.journal.request_clusters import (
    VolumeClaim,
    confirm_claim,
    drop_abandoned,
    drop_claim,
    find_claim,
    list_abandoned,
    write_claim,
)
from plimsoll.decide.ceph.volume_ids import UUID_BYTES
from plimsoll.processes.driver.backends.ceph.ceph_cluster import failures_of
from plimsoll.processes.driver.backends.ceph.clusters.member_clusters import (
    MemberCluster,
    MemberClusters,
)
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError, JournalRunner
from plimsoll.processes.driver.records import RecordPhase, VolumeRecord
from plimsoll.wire.ceph.errors import CephError
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import aborted

log = logging.getLogger(__name__)


class SpannedRequests:
    """Every method but `clean` raises CsiStatusError."""

    def __init__(self, members: MemberClusters) -> None:
        self._members = members

    async def find(self, name: str, parameters: Mapping[str, str]) -> VolumeClaim | None:
        """None: the request has no volume, or its class is of one cluster."""
        if not self._is_spanned(parameters):
            return None
        runner, journal = await self._journal(name, parameters)
        with failures_of(f"volume {name}"):
            return await runner.run(find_claim(journal, name))

    async def claim(self, volume: VolumeRecord) -> None:
        """Before it is made in its cluster."""
        if not self._is_spanned(volume.parameters):
            return
        before = await self.find(volume.name, volume.parameters)
        if before is not None and before.is_made and await self._is_there(before.volume_id):
            raise aborted(f"volume {volume.name}: another call has made it meanwhile")
        runner, journal = await self._journal(volume.name, volume.parameters)
        with failures_of(f"volume {volume.name}"):
            await runner.run(write_claim(journal, volume.name, before, volume.id))

    async def confirm(self, volume: VolumeRecord) -> None:
        """It is made; it is removed again if another call has abandoned it meanwhile."""
        if not self._is_spanned(volume.parameters):
            return
        runner, journal = await self._journal(volume.name, volume.parameters)
        with failures_of(f"volume {volume.name}"):
            try:
                await runner.run(confirm_claim(journal, volume.name, volume.id))
            except JournalError as error:
                if error.problem is JournalProblem.CHANGED:
                    await self._remove(volume.name, volume.id)
                raise

    async def forget(self, volume: VolumeRecord) -> None:
        """It is deleted."""
        if not self._is_spanned(volume.parameters):
            return
        runner, journal = await self._journal(volume.name, volume.parameters)
        with failures_of(f"volume {volume.name}"):
            await runner.run(drop_claim(journal, volume.name, volume.id))

    async def clean(self) -> None:
        """Volumes that were abandoned, as far as their clusters answer."""
        await asyncio.gather(*map(self._try_clean, self._members.answering()))

    async def _try_clean(self, home: MemberCluster) -> None:
        try:
            await self._clean(home)
        except (CephError, JournalError, CsiStatusError) as error:
            facts = {"cluster": home.name, "error": str(error)}
            log.warning("abandoned volumes not removed", extra=facts)

    async def _clean(self, home: MemberCluster) -> None:
        runner = home.backend.cluster.runner
        for journal in await home.backend.records.volumes.journals():
            listed: Mapping[str, str] = await runner.run(list_abandoned(journal))
            for volume_id, name in listed.items():
                await self._remove(name, volume_id)
                await runner.run(drop_abandoned(journal, volume_id))

    async def _remove(self, name: str, volume_id: str) -> None:
        """Neither more nor less than the volume of that id."""
        member = await self._members.of_id(volume_id)
        if member is None:
            return
        backend = member.backend
        found = await backend.records.volumes.find(volume_id)
        if found is None:
            await backend.give_up(name, volume_id[-UUID_BYTES:])
            return
        removing = msgspec.structs.replace(found, phase=RecordPhase.REMOVING)
        await backend.remove(await backend.records.volumes.put(removing))
        await backend.records.volumes.drop(volume_id)

    async def _is_there(self, volume_id: str) -> bool:
        member = await self._members.of_id(volume_id)
        if member is None:
            return False
        return await member.backend.records.volumes.find(volume_id) is not None

    def _is_spanned(self, parameters: Mapping[str, str]) -> bool:
        return bool(parameters) and self._members.parse(parameters).is_spread_over_clusters

    async def _journal(
        self, name: str, parameters: Mapping[str, str]
    ) -> tuple[JournalRunner, CephJournal]:
        home = self._members.named(self._members.parse(parameters).home).backend
        with failures_of(f"volume {name}"):
            journal = await home.records.volumes.journal_of(parameters)
        return home.cluster.runner, journal
