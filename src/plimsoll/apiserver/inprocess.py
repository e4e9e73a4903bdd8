"""The embedded server without a network between: the same bytes, the same rules, one event loop.

The caller's identity travels with the transport and goes through authorization, admission and
validation as over HTTP. Nothing mutable is shared: bodies are bytes on both sides.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from plimsoll.apiserver.access.impersonation import PREFIX
from plimsoll.apiserver.access.users import ADMIN, User
from plimsoll.apiserver.http.answers import Answer, Stream, warning_headers
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.server import ApiServer, refused
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse


class InProcessTransport:
    """Implements `wire.transport.Transport`."""

    def __init__(self, server: ApiServer, user: User = ADMIN) -> None:
        self._server = server
        self._user = user

    async def request(self, request: Request) -> Response:
        return await _response(request, await self._answer(request))

    async def serve(self, request: Request) -> Response:
        """The same, however long it takes: for a caller that minds the time itself."""
        return await _response(request, await self._handled(request))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        answer = await self._answer(request)
        headers = _headers(answer)
        if answer.stream is None:
            yield StreamedResponse(status=answer.status, headers=headers, body=answer.body)
            return
        try:
            yield StreamedResponse(
                status=answer.status, headers=headers, lines=_lines(answer.stream)
            )
        finally:
            answer.stream.close()

    async def pour(
        self,
        request: Request,
        opened: Callable[[StreamedResponse], None],
        send: Callable[[bytes], None],
    ) -> None:
        """A watch from its beginning to its end, for a receiver that takes every line at once and
        minds the time itself: its head is given to `opened`, and each line to `send`."""
        answer = await self._handled(request)
        opened(StreamedResponse(status=answer.status, headers=_headers(answer), body=answer.body))
        stream = answer.stream
        if stream is None:
            return
        try:
            if stream.pour is not None:
                await stream.pour(send)
                return
            async for line in _lines(stream):
                send(line)
        finally:
            stream.close()

    async def _answer(self, request: Request) -> Answer:
        if request.timeout is None:
            return await self._handled(request)
        try:
            async with self._server.cluster.clock.timeout(request.timeout):
                return await self._handled(request)
        except TimeoutError as error:
            operation = f"{request.method} {request.path}"
            raise KubeError(
                Failure.UNKNOWN_OUTCOME, "no answer in time", operation=operation
            ) from error

    async def _handled(self, request: Request) -> Answer:
        user = self._user
        if any(name.startswith(PREFIX) for name in request.headers):
            try:
                user = self._server.acting_user(user, request.headers.items())
            except ApiError as error:
                return refused(error, request)
        return await self._server.handle(request, user)

    async def close(self) -> None:
        """There is nothing to let go of."""


async def _response(request: Request, answer: Answer) -> Response:
    body = answer.body if answer.stream is None else await _whole(request, answer.stream)
    return Response(status=answer.status, headers=_headers(answer), body=body)


def _headers(answer: Answer) -> dict[str, str]:
    headers = {"content-type": answer.content_type} | dict(answer.headers)
    if answer.warnings:
        headers["warning"] = ", ".join(warning_headers(answer.warnings))
    return headers


async def _whole(request: Request, stream: Stream) -> bytes:
    try:
        if stream.has_end:
            return b"".join([chunk async for chunk in stream.chunks])
    finally:
        stream.close()
    raise ValueError(f"{request.path}: a watch is a stream; ask for it with stream()")


async def _lines(stream: Stream) -> AsyncIterator[bytes]:
    async for chunk in stream.chunks:
        if stream.has_frames:
            yield chunk
            continue
        for line in chunk.splitlines():
            yield line
