"""csi-provisioner in the place of ours, as after a downgrade.

It is our provisioner in the mode that decides as csi-provisioner does: it stores no intents, does
not look at holds and has volumes deleted by DeleteVolume alone. What else would give it away is
taken from its messages: driver calls name no epoch, and of the leader's lease it writes what every
program writes, while the notes of our leaders stay as they are.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec

from plimsoll.api.registry import Document
from plimsoll.enact.lease_store import LEADER_TRANSITIONS, OWN_SINCE
from plimsoll.simulator.cluster.api_host import KubeLink
from plimsoll.simulator.cluster.driver_host import CsiLink
from plimsoll.wire.csi.transport import NO_METADATA, Metadata, Permit, permit_always
from plimsoll.wire.transport import Request, Response, StreamedResponse

NOTES = (LEADER_TRANSITIONS, OWN_SINCE)


class StockCalls:
    """Implements CsiTransport: calls without an epoch."""

    def __init__(self, link: CsiLink) -> None:
        self._link = link

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        def permitted() -> Metadata:
            permit()
            return NO_METADATA

        return await self._link.call(method, request, within=within, permit=permitted)

    async def close(self) -> None:
        await self._link.close()


class StockLeases:
    """Implements `wire.transport.Transport` for the election: the notes of our leaders are written
    back as they were read."""

    def __init__(self, link: KubeLink) -> None:
        self._link = link
        self._noted: dict[str, str] = {}

    async def request(self, request: Request) -> Response:
        if not request.is_read and request.body:
            lease = msgspec.json.decode(request.body)
            body = msgspec.json.encode(self._as_read(lease))
            request = msgspec.structs.replace(request, body=body)
        response = await self._link.request(request)
        if response.status < 300:  # noqa: PLR2004 - success is 2xx
            self._noted = _notes(msgspec.json.decode(response.body))
        return response

    def _as_read(self, lease: Document) -> Document:
        metadata = lease["metadata"]
        others = {
            name: value
            for name, value in (metadata.get("annotations") or {}).items()
            if name not in NOTES
        }
        return {**lease, "metadata": {**metadata, "annotations": {**others, **self._noted}}}

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        async with self._link.stream(request) as streamed:
            yield streamed

    async def close(self) -> None:
        await self._link.close()


def _notes(lease: Document) -> dict[str, str]:
    annotations = (lease.get("metadata") or {}).get("annotations") or {}
    return {name: annotations[name] for name in NOTES if name in annotations}
