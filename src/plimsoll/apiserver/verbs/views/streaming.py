"""Long answers piece by piece: each piece is made when the client has taken the one before.

A client that does not read holds one piece and a list of the objects to come, which the server
keeps anyway; it never holds a whole answer.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.answers import Answer, Stream
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.heavy_work import HEAVY_BYTES
from plimsoll.apiserver.verbs.views.protobuf_view import ProtobufView
from plimsoll.apiserver.verbs.views.text_view import ObjectView

T = TypeVar("T")

PIECE_BYTES = 64 * 1024
PIECE_RECORDS = 200
WHOLE_BYTES = 256 * 1024
"""Lists of up to this size are sent whole, unless they are in a form that takes long to make."""


def in_groups(members: Iterable[T], record_of: Callable[[T], StoredRecord]) -> Iterator[list[T]]:
    """In order, each group of at most PIECE_RECORDS and, but for its last one, PIECE_BYTES."""
    group: list[T] = []
    size = 0
    for member in members:
        group.append(member)
        size += len(record_of(member).raw)
        if size >= PIECE_BYTES or len(group) == PIECE_RECORDS:
            yield group
            group, size = [], 0
    if group:
        yield group


def is_large(records: Sequence[StoredRecord], limit: int = HEAVY_BYTES) -> bool:
    return sum(len(record.raw) for record in records) > limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """What a list shows, and the metadata of the list itself."""

    records: list[StoredRecord]
    meta: Document


def list_answer(
    cluster: StoredCluster, view: ObjectView, page: ListPage, warnings: tuple[str, ...] = ()
) -> Answer:
    """Whole if it is short, otherwise piece by piece."""
    if not is_large(page.records, HEAVY_BYTES if view.is_slow else WHOLE_BYTES):
        body = view.list(page.records, page.meta, cluster.clock.now())
        return Answer(body=body, content_type=view.content_type, warnings=warnings)
    stream = Stream(
        chunks=list_pieces(cluster, view, page),
        close=nothing_to_close,
        overflow=asyncio.Event(),
        has_end=True,
    )
    return Answer(stream=stream, content_type=view.content_type, warnings=warnings)


def nothing_to_close() -> None:
    """There is no watch behind the stream."""


async def list_pieces(
    cluster: StoredCluster, view: ObjectView, page: ListPage
) -> AsyncIterator[bytes]:
    """The same bytes as `view.list` of at least one record."""
    now = cluster.clock.now()
    if isinstance(view, ProtobufView):
        async for piece in _protobuf_pieces(cluster, view, page, now):
            yield piece
        return
    yield view.list_start(page.meta)
    first = True
    for group in in_groups(page.records, lambda record: record):
        encode = partial(view.list_members, group, now, first=first)
        yield await cluster.work.run(encode) if view.is_slow else encode()
        first = False
    yield view.list_end()


async def _protobuf_pieces(
    cluster: StoredCluster, view: ProtobufView, page: ListPage, now: datetime
) -> AsyncIterator[bytes]:
    """Their size comes first, so all of them are made before one is sent."""
    groups = in_groups(page.records, lambda record: record)
    pieces = [
        await cluster.work.run(partial(view.list_members, group, now, first=False))
        for group in groups
    ]
    yield view.list_start(page.meta, sum(map(len, pieces)))
    for piece in pieces:
        yield piece
    yield view.list_end()
