"""The ASGI side of the server: HTTP in, Answers out."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qsl

from msgspec.structs import replace

from plimsoll.apiserver.access.impersonation import PREFIX as IMPERSONATE, Headers
from plimsoll.apiserver.access.users import ANONYMOUS, User
from plimsoll.apiserver.http.answers import Answer, Stream, refusal, warning_headers
from plimsoll.apiserver.http.bodies import (
    Bodies,
    DisconnectedError,
    Message,
    Receive,
    is_announced,
)
from plimsoll.apiserver.http.compression import compressed
from plimsoll.apiserver.http.connections import TooManyConnectionsError
from plimsoll.apiserver.http.identity import Authenticator
from plimsoll.apiserver.http.protocol import PEER, Peer
from plimsoll.apiserver.model.status import ApiError, bad_request
from plimsoll.runtime.clock import Clock
from plimsoll.wire.transport import Request

QUERY_LIMIT = 1000
PIECE_BYTES = 256 * 1024

Send = Callable[[Message], Awaitable[None]]


class RequestHandler(Protocol):
    """What answers requests once they were read: the server without any network."""

    def acting_user(self, user: User, headers: Headers) -> User:
        """Whom the request is answered for, if it asks for another user. Raises ApiError."""

    def authorize(self, request: Request, user: User) -> None:
        """Raises ApiError for those who may not ask, before any body is read."""

    def unauthenticated(self, request: Request, error: ApiError) -> None:
        """The credentials belong to no user: nothing more comes of the request."""

    async def handle(self, request: Request, user: User) -> Answer: ...


class AsgiApp:
    def __init__(self, handler: RequestHandler, clock: Clock, authenticator: Authenticator) -> None:
        self._handler = handler
        self._authenticator = authenticator
        self._bodies = Bodies(clock)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        peer: Peer = scope["state"][PEER]
        try:
            answer = await self._answer(scope, receive, peer)
        except DisconnectedError:
            return
        if answer.stream is not None:
            await _send_stream(answer, answer.stream, _Ends(receive, send, peer))
            return
        await _send(answer, send, head_only=scope["method"] == "HEAD")
        if answer.leaves_body:
            await self._bodies.discard(receive)
            peer.stop_reading()
            await send({"type": "http.response.body", "body": b""})

    async def _answer(self, scope: Message, receive: Receive, peer: Peer) -> Answer:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        is_known = False
        try:
            request, user = self._authorized(scope, headers, peer)
            is_known = True
            async with self._bodies.read(headers, receive, user) as body:
                answer = await self._handler.handle(replace(request, body=body), user)
            return await compressed(answer, headers)
        except ApiError as error:
            told = refusal(error)
            if not is_announced(headers) and not isinstance(error, TooManyConnectionsError):
                return told
            # What is left of the body is not looked at: no other request can follow it.
            peer.stop_reading()
            closing = (*told.headers, ("connection", "close"))
            return replace(told, headers=closing, leaves_body=is_known)

    def _authorized(
        self, scope: Message, headers: dict[str, str], peer: Peer
    ) -> tuple[Request, User]:
        """The request without its body: nothing is read from those who may not ask."""
        request = Request(
            method=scope["method"],
            path=scope["raw_path"].decode("latin-1"),
            query=_query(scope["query_string"].decode("latin-1")),
            headers=headers,
        )
        try:
            sender = self._authenticator.user(headers, peer.certificate)
            user = self._acting_user(sender, scope)
        except ApiError as error:
            self._handler.unauthenticated(request, error)
            raise
        self._handler.authorize(request, user)
        if sender is not ANONYMOUS and not peer.recognise("" if sender.is_admin else sender.name):
            raise TooManyConnectionsError
        return request, user

    def _acting_user(self, sender: User, scope: Message) -> User:
        names = IMPERSONATE.encode()
        asked = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in scope["headers"]
            if name.startswith(names)
        ]
        return self._handler.acting_user(sender, asked) if asked else sender


def _query(text: str) -> tuple[tuple[str, str], ...]:
    if not text:
        return ()
    try:
        return tuple(parse_qsl(text, keep_blank_values=True, max_num_fields=QUERY_LIMIT))
    except ValueError as error:
        raise bad_request(f"a query may have at most {QUERY_LIMIT} parameters") from error


def _head(answer: Answer, length: int | None) -> Message:
    headers = [(b"content-type", answer.content_type.encode())]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    headers += [(name.encode(), value.encode()) for name, value in answer.headers]
    headers += [(b"warning", text.encode("utf-8")) for text in warning_headers(answer.warnings)]
    headers.append((b"cache-control", b"no-cache, private"))
    return {"type": "http.response.start", "status": answer.status, "headers": headers}


async def _send(answer: Answer, send: Send, *, head_only: bool) -> None:
    """In pieces: encryption of a long body in one go would hold the event loop.

    The end of one that leaves a body unread is left to the caller.
    """
    body = memoryview(b"" if head_only else answer.body)
    await send(_head(answer, len(answer.body)))
    while len(body) > PIECE_BYTES:
        await send({"type": "http.response.body", "body": body[:PIECE_BYTES], "more_body": True})
        body = body[PIECE_BYTES:]
    await send({"type": "http.response.body", "body": body, "more_body": answer.leaves_body})


@dataclass(frozen=True, slots=True)
class _Ends:
    """Both directions of a connection, and the knife."""

    receive: Receive
    send: Send
    peer: Peer


async def _send_stream(answer: Answer, stream: Stream, ends: _Ends) -> None:
    """Until the stream ends, the client leaves, or it is too slow to be waited for."""
    try:
        await ends.send(_head(answer, None))
        await ends.send({"type": "http.response.body", "body": b"", "more_body": True})
        async with asyncio.TaskGroup() as group:
            endings = [
                group.create_task(_pump(stream, ends.send)),
                group.create_task(_client_leaves(ends.receive)),
                group.create_task(_cut(stream, ends.peer)),
            ]
            await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
            for ending in endings:
                ending.cancel()
    finally:
        stream.close()


async def _pump(stream: Stream, send: Send) -> None:
    async for chunk in stream.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _client_leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cut(stream: Stream, peer: Peer) -> None:
    """A client that does not read what it asked for: its backlog is not kept."""
    await stream.overflow.wait()
    peer.abort()
