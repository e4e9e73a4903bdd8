"""A transport that refuses requests before the server sees them, as roles and broken servers do."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport

Rule = Callable[[Request], int]
"""The status with which a request is turned away; 0: it may pass."""

Happens = Callable[[], Awaitable[None]]

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def open_to_all(_request: Request) -> int:
    return 0


class RefusingTransport:
    """Implements Transport. What passed is remembered by verb and resource."""

    def __init__(self, inner: Transport, rule: Rule = open_to_all) -> None:
        self._inner = inner
        self.rule = rule
        self.passed: list[tuple[str, str]] = []
        self.turned_away: list[tuple[str, str]] = []

    def _judge(self, request: Request) -> int:
        status = self.rule(request)
        (self.turned_away if status else self.passed).append(asked(request))
        return status

    async def request(self, request: Request) -> Response:
        status = self._judge(request)
        return Response(status=status) if status else await self._inner.request(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        status = self._judge(request)
        if status:
            yield StreamedResponse(status=status)
            return
        async with self._inner.stream(request) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()


def asked(request: Request) -> tuple[str, str]:
    """Verb and resource, as roles name them."""
    parts = request.path.strip("/").split("/")
    below = parts[2:] if parts[0] == "api" else parts[3:]
    match below:
        case ["namespaces", _namespace, *rest] if rest:
            below = rest
    resource = below[0] if below else ""
    if ("watch", "true") in request.query or ("watch", "1") in request.query:
        return "watch", resource
    if request.method == "GET":
        return ("get" if len(below) > 1 else "list"), resource
    return VERBS.get(request.method, request.method), resource


def role(granted: Mapping[str, str]) -> Rule:
    """Verbs by resource, separated by blanks; everything else is forbidden."""

    def rule(request: Request) -> int:
        verb, resource = asked(request)
        return 0 if verb in granted.get(resource, "").split() else 403

    return rule


def forbidden(*resources: str) -> Rule:
    return lambda request: 403 if asked(request)[1] in resources else 0


def missing(*resources: str) -> Rule:
    return lambda request: 404 if asked(request)[1] in resources else 0


class InterruptedTransport:
    """Implements Transport. Something happens right before a request of a kind arrives: the first
    one, or the one of this number."""

    def __init__(
        self, inner: Transport, verb: str, resource: str, happens: Happens, *, number: int = 1
    ) -> None:
        self._inner = inner
        self._when = verb, resource
        self._happens = happens
        self._left = number
        self.was_interrupted = False

    async def request(self, request: Request) -> Response:
        if not self.was_interrupted and asked(request) == self._when:
            self._left -= 1
            if not self._left:
                self.was_interrupted = True
                await self._happens()
        return await self._inner.request(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        async with self._inner.stream(request) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()
