"""Answers of the server as values: a status, headers, and a body or a stream. The HTTP side and the
in-process transport each send them in their own way.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from plimsoll.apiserver.model.status import ApiError

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
WARNINGS_LENGTH = 4096
"""Of all warnings of an answer, in characters; if they are longer, each has CUT_LENGTH at most."""
CUT_LENGTH = 256


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    status: int = 200
    content_type: str = JSON
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    """Shown by clients beside the answer."""
    stream: "Stream | None" = None
    annotations: tuple[tuple[str, str], ...] = ()
    """For the audit log; clients do not see them."""
    is_document: bool = False
    """An object that a handler has written as JSON; the client may want it in another format."""
    leaves_body: bool = False
    """The sender of the request is known, and may still be sending its body, which nothing needs
    any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A body that is made while it is sent: a watch, or a list that is too long to be held."""

    chunks: AsyncIterator[bytes]
    close: Callable[[], None]
    overflow: asyncio.Event
    """Set when the receiver was too slow and must not be waited for."""
    has_end: bool = False
    """A list ends by itself; a watch lasts until either side leaves."""
    has_frames: bool = False
    """A watch in protobuf: what it sends is not made of lines."""
    pour: "Callable[[Callable[[bytes], None]], Awaitable[None]] | None" = None
    """Of a watch, instead of reading the chunks: every line is given to the function that is named,
    as soon as there is one."""


def json_answer(document: Any, status: int = 200, *, warnings: Iterable[str] = ()) -> Answer:
    """Each warning once."""
    return Answer(
        status=status,
        body=msgspec.json.encode(document),
        warnings=tuple(dict.fromkeys(warnings)),
        is_document=True,
    )


def text_answer(text: str, status: int = 200) -> Answer:
    return Answer(status=status, content_type=TEXT, body=text.encode())


def refusal(error: ApiError) -> Answer:
    headers: tuple[tuple[str, str], ...] = ()
    retry = (error.details or {}).get("retryAfterSeconds")
    if retry:
        headers = (("retry-after", str(retry)),)
    return Answer(
        status=error.code,
        body=msgspec.json.encode(error.document),
        headers=headers,
        warnings=error.warnings,
        annotations=error.annotations,
        is_document=True,
    )


def warning_headers(texts: Iterable[str]) -> list[str]:
    """Values of the Warning header, one for each text.

    They are cut short, and then left out, where they would be more than clients read: an answer
    that cannot be read leaves its client without knowing what became of a write.
    """
    texts = tuple(texts)
    if sum(map(len, texts)) > WARNINGS_LENGTH:
        most = WARNINGS_LENGTH // CUT_LENGTH
        texts = tuple(text[:CUT_LENGTH] for text in texts[:most])
    return [_warning_header(text) for text in texts]


def _warning_header(text: str) -> str:
    """Code, agent, quoted text."""
    plain = "".join(mark if mark.isprintable() else " " for mark in text)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
