"""A transport whose answers are written down beforehand, for tests of what sits on top of it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from plimsoll.wire.transport import Request, Response, StreamedResponse


def answer(status: int = 200, body: Any = None, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, headers=named, body=msgspec.json.encode(body or {}))


def refusal(code: int, reason: str = "", message: str = "no", **headers: str) -> Response:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(code, status, **headers)


class ScriptedTransport:
    """Gives the answers one after the other, raising those that are errors."""

    def __init__(self, *answers: Response | Exception, lines: Iterable[bytes] = ()) -> None:
        self._answers = list(answers)
        self._lines = list(lines)
        self.requests: list[Request] = []
        self.is_closed = False

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        given = self._answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        self.requests.append(request)
        given = self._answers.pop(0)
        if isinstance(given, Exception):
            raise given
        if given.status == 200:
            yield StreamedResponse(status=200, lines=self._all_lines())
        else:
            yield StreamedResponse(status=given.status, headers=given.headers, body=given.body)

    async def _all_lines(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line

    async def close(self) -> None:
        self.is_closed = True
