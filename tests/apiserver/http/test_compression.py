"""Which answers are compressed, and for whom."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from plimsoll.apiserver.http.answers import Answer, Stream
from plimsoll.apiserver.http.compression import SMALLEST_BYTES, compressed, takes_gzip
from plimsoll.apiserver.verbs.views.streaming import nothing_to_close

LARGE = b'{"a":"b"}' * SMALLEST_BYTES
TAKES = {"accept-encoding": "gzip"}


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        pytest.param("", False, id="nothing-said"),
        pytest.param("gzip", True, id="gzip"),
        pytest.param("deflate, gzip;q=0.8", True, id="among-others"),
        pytest.param("gzip;q=0", False, id="not-wanted"),
        pytest.param("gzip; q=0.0", False, id="not-wanted-at-all"),
        pytest.param("identity", False, id="as-it-is"),
        pytest.param("xgzip", False, id="something-else"),
    ],
)
def test_clients_say_whether_they_take_gzip(header: str, *, taken: bool) -> None:
    assert takes_gzip({"accept-encoding": header} if header else {}) is taken


async def test_a_large_answer_is_compressed_for_those_who_take_it() -> None:
    answer = await compressed(Answer(body=LARGE), TAKES)

    assert gzip.decompress(answer.body) == LARGE
    assert dict(answer.headers) == {"content-encoding": "gzip", "vary": "Accept-Encoding"}
    assert len(answer.body) < len(LARGE) / 10


@pytest.mark.parametrize(
    ("answer", "headers"),
    [
        pytest.param(Answer(body=LARGE), {}, id="not-asked-for"),
        pytest.param(Answer(body=LARGE[: SMALLEST_BYTES - 1]), TAKES, id="small"),
    ],
)
async def test_other_answers_stay_as_they_are(answer: Answer, headers: dict[str, str]) -> None:
    assert await compressed(answer, headers) is answer


async def _parts() -> AsyncIterator[bytes]:
    yield LARGE
    yield b"end"


def a_stream(*, has_end: bool) -> Answer:
    stream = Stream(
        chunks=_parts(), close=nothing_to_close, overflow=asyncio.Event(), has_end=has_end
    )
    return Answer(stream=stream)


async def test_a_list_that_is_sent_in_pieces_is_compressed_piece_by_piece() -> None:
    answer = await compressed(a_stream(has_end=True), TAKES)

    assert answer.stream is not None
    pieces = [piece async for piece in answer.stream.chunks]
    assert gzip.decompress(b"".join(pieces)) == LARGE + b"end"


async def test_a_watch_is_never_compressed() -> None:
    watch = a_stream(has_end=False)

    assert await compressed(watch, TAKES) is watch
