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


def warning_header(text: str) -> str:
    """One value of the Warning header: code, agent, quoted text."""
    plain = "".join(mark if mark.isprintable() else " " for mark in text)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
