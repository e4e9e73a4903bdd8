"""Answers in gzip: large ones, for clients that take it, as kube-apiserver does.

Watches are never compressed: each event would wait for others. Bodies of requests are taken as they
are, whatever Content-Encoding says; one that is compressed is not valid JSON.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial

from msgspec import structs

from plimsoll.apiserver.http.answers import Answer, Stream

SMALLEST_BYTES = 128 * 1024
LEVEL = 1
"""Most of the gain for the least of the work."""
GZIP_WINDOW = zlib.MAX_WBITS | 16
"""With this bit, zlib writes gzip's head and sum."""
HEADERS = (("content-encoding", "gzip"), ("vary", "Accept-Encoding"))


def takes_gzip(headers: Mapping[str, str]) -> bool:
    accepted = (clause.partition(";") for clause in headers.get("accept-encoding", "").split(","))
    return any(name.strip() == "gzip" and _is_wanted(rest) for name, _, rest in accepted)


def _is_wanted(parameters: str) -> bool:
    """A quality of nought says no."""
    name, _, quality = parameters.replace(" ", "").partition("=")
    return name != "q" or bool(quality.strip("0."))


async def compressed(answer: Answer, headers: Mapping[str, str]) -> Answer:
    """The answer as it was, or in gzip, made beside the event loop."""
    stream = answer.stream
    is_large = len(answer.body) >= SMALLEST_BYTES if stream is None else stream.has_end
    if not is_large or not takes_gzip(headers):
        return answer
    told = structs.replace(answer, headers=(*answer.headers, *HEADERS))
    if stream is not None:
        return structs.replace(told, stream=replace(stream, chunks=_pieces(stream)))
    packed = await asyncio.to_thread(partial(zlib.compress, answer.body, LEVEL, GZIP_WINDOW))
    return structs.replace(told, body=packed)


async def _pieces(stream: Stream) -> AsyncIterator[bytes]:
    packing = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP_WINDOW)
    async for chunk in stream.chunks:
        piece = await asyncio.to_thread(packing.compress, chunk)
        if piece:
            yield piece
    yield packing.flush()
