"""Lists, in pages, and what one entry of them says.

Pages follow the order in which things were made. A token is the number of the last one shown, so
that what is deleted between two pages does not shift the second, and what is added comes last.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from plimsoll.processes.driver.controller.answers import (
    condition_message,
    snapshot_message,
    volume_message,
)
from plimsoll.processes.driver.controller.requests import required
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.records import RecordPhase, SnapshotRecord, VolumeRecord
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from plimsoll.wire.csi.refusals import aborted, invalid_argument

AT_ONCE = 16
"""How many volumes are looked at together. Storage that does not answer keeps each of them until a
time limit."""

Entry = TypeVar("Entry", VolumeRecord, SnapshotRecord)


class VolumeListing:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def list_volumes(self, request: csi.ListVolumesRequest) -> csi.ListVolumesResponse:
        table = self._driver.records.volumes
        asked = _PageRequest(request.max_entries, request.starting_token, await table.newest())
        page, token = _page(await table.numbered(), asked)
        entries = [
            csi.ListVolumesResponse.Entry(
                volume=volume_message(self._driver, volume),
                status=csi.ListVolumesResponse.VolumeStatus(
                    published_node_ids=_nodes(volume), volume_condition=condition
                ),
            )
            for volume, condition in zip(page, await self._conditions(page), strict=True)
        ]
        return csi.ListVolumesResponse(entries=entries, next_token=token)

    async def _conditions(self, page: Sequence[VolumeRecord]) -> Sequence[csi.VolumeCondition]:
        turns = asyncio.Semaphore(AT_ONCE)

        async def condition(volume: VolumeRecord) -> csi.VolumeCondition:
            async with turns:
                return await condition_message(self._driver, volume)

        return await asyncio.gather(*(condition(volume) for volume in page))

    async def get_volume(
        self, request: csi.ControllerGetVolumeRequest
    ) -> csi.ControllerGetVolumeResponse:
        volume = await self._driver.volume(required(request.volume_id, "volume_id"))
        return csi.ControllerGetVolumeResponse(
            volume=volume_message(self._driver, volume),
            status=csi.ControllerGetVolumeResponse.VolumeStatus(
                published_node_ids=_nodes(volume),
                volume_condition=await condition_message(self._driver, volume),
            ),
        )

    async def get_volume_use(
        self, request: pools_pb2.GetVolumeUseRequest
    ) -> pools_pb2.GetVolumeUseResponse:
        volume = await self._driver.volume(required(request.volume_id, "volume_id"))
        return pools_pb2.GetVolumeUseResponse(
            was_published=volume.first_published_at is not None
            or await self._driver.has_foreign_writes(volume),
            in_use=await self._driver.where_in_use(volume),
        )

    async def list_snapshots(self, request: csi.ListSnapshotsRequest) -> csi.ListSnapshotsResponse:
        table = self._driver.records.snapshots
        wanted = [
            (number, snapshot)
            for number, snapshot in await table.numbered()
            if request.snapshot_id in ("", snapshot.id)
            and request.source_volume_id in ("", snapshot.volume_id)
        ]
        asked = _PageRequest(request.max_entries, request.starting_token, await table.newest())
        page, token = _page(wanted, asked)
        entries = [
            csi.ListSnapshotsResponse.Entry(snapshot=snapshot_message(snapshot))
            for snapshot in page
        ]
        return csi.ListSnapshotsResponse(entries=entries, next_token=token)

    async def get_snapshot(self, request: csi.GetSnapshotRequest) -> csi.GetSnapshotResponse:
        snapshot = await self._driver.snapshot(required(request.snapshot_id, "snapshot_id"))
        return csi.GetSnapshotResponse(snapshot=snapshot_message(snapshot))


def _nodes(volume: VolumeRecord) -> list[str]:
    return [attachment.node_id for attachment in volume.attachments]


class _PageRequest(NamedTuple):
    most: int
    token: str
    newest: int


def _page(entries: Sequence[tuple[int, Entry]], asked: _PageRequest) -> tuple[list[Entry], str]:
    """The entries of one page, and the token of the next; an empty one: that was all."""
    if asked.most < 0:
        raise invalid_argument("max_entries: must not be negative")
    after = _position(asked.token, asked.newest)
    left = [
        (number, entry)
        for number, entry in entries
        if number > after and entry.phase is RecordPhase.READY
    ]
    page = left[: asked.most] if asked.most else left
    next_token = str(page[-1][0]) if len(page) < len(left) else ""
    return [entry for _, entry in page], next_token


def _position(token: str, newest: int) -> int:
    if not token:
        return 0
    if not (token.isascii() and token.isdigit()) or int(token) > newest:
        raise aborted(f"starting_token {token!r}: is none of ours; begin again without")
    return int(token)
