"""A running server without a network, and a client that says little."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.webhooks.calls import WebhookClient
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import ServerOptions, make_server, running
from plimsoll.apiserver.server import ApiServer
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.store import LogStore, MemoryStore
from plimsoll.runtime.clock import Clock, SteppedClock, settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.wire.transport import Request, StreamedResponse

MAPS = "/api/v1/namespaces/default/configmaps"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    document: Any
    warnings: tuple[str, ...] = ()

    @property
    def revision(self) -> int:
        return int(self.document["metadata"]["resourceVersion"])

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.document["items"]]


def a_map(name: str, text: str = "", labels: dict[str, str] | None = None) -> Document:
    metadata: Document = {"name": name} | ({"labels": labels} if labels else {})
    return {"metadata": metadata, "data": {"text": text}}


class Api:
    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.transport = InProcessTransport(server)

    async def ask(self, method: str, path: str, body: Any = None, **query: str) -> Reply:
        headers = JSON
        if method == "PATCH":
            headers = {"content-type": "application/merge-patch+json"}
        return await self._reply(method, path, body, headers, **query)

    async def apply(self, path: str, body: Any, manager: str = "tests") -> Reply:
        headers = {"content-type": "application/apply-patch+yaml"}
        return await self._reply("PATCH", path, body, headers, fieldManager=manager)

    async def _reply(
        self, method: str, path: str, body: Any, headers: dict[str, str], /, **query: str
    ) -> Reply:
        response = await self.transport.request(
            Request(
                method=method,
                path=path,
                query=tuple(query.items()),
                headers=headers,
                body=b"" if body is None else msgspec.json.encode(body),
            )
        )
        is_json = response.headers["content-type"].startswith("application/json")
        document = msgspec.json.decode(response.body) if is_json else response.body
        warning = response.headers.get("warning")
        return Reply(response.status, document, (warning,) if warning else ())

    async def create(self, name: str, text: str = "", **labels: str) -> Reply:
        reply = await self.ask("POST", MAPS, a_map(name, text, labels))
        assert reply.status == 201, reply
        return reply

    async def change(self, name: str, text: str, **labels: str) -> Reply:
        reply = await self.ask("PUT", f"{MAPS}/{name}", a_map(name, text, labels))
        assert reply.status == 200, reply
        return reply

    async def delete(self, name: str) -> Reply:
        reply = await self.ask("DELETE", f"{MAPS}/{name}")
        assert reply.status == 200, reply
        return reply

    async def get(self, name: str, **query: str) -> Reply:
        return await self.ask("GET", f"{MAPS}/{name}", **query)

    async def list(self, **query: str) -> Reply:
        return await self.ask("GET", MAPS, **query)

    @asynccontextmanager
    async def watch(self, path: str = MAPS, **query: str) -> AsyncIterator["Watching"]:
        asked = (("watch", "true"), *query.items())
        request = Request(method="GET", path=path, query=asked)
        async with self.transport.stream(request) as response:
            watching = Watching(response)
            try:
                yield watching
            finally:
                watching.leave()


class Watching:
    """What a watch has sent so far, read without waiting for more."""

    def __init__(self, response: StreamedResponse) -> None:
        self.status = response.status
        self.body = response.body
        self._lines = response.lines
        self._next: asyncio.Future[bytes] | None = None
        self._has_ended = False

    def has_ended(self) -> bool:
        return self._has_ended

    async def events(self) -> list[tuple[str, Document]]:
        """Everything that has arrived since the last call."""
        found = []
        while not self._has_ended:
            if self._next is None:
                self._next = asyncio.ensure_future(anext(self._lines))
            await settle()
            if not self._next.done():
                break
            try:
                event = msgspec.json.decode(self._next.result())
            except StopAsyncIteration:
                self._has_ended = True
            else:
                found.append((event["type"], event["object"]))
            self._next = None
        return found

    async def seen(self) -> list[tuple[str, str]]:
        """Types and names only; a bookmark has the revision in the name's place."""
        return [
            (kind, document["metadata"].get("name") or document["metadata"]["resourceVersion"])
            for kind, document in await self.events()
        ]

    async def refusal(self) -> Document:
        """The Status that the watch consists of."""
        [(kind, document)] = await self.events()
        assert (self.status, kind, self._has_ended) == (200, "ERROR", True)
        return document

    def leave(self) -> None:
        if self._next is not None:
            self._next.cancel()


@asynccontextmanager
async def serving(
    store: LogStore | None = None,
    clock: Clock | None = None,
    limits: HistoryLimits | None = None,
    webhooks: WebhookClient | None = None,
) -> AsyncIterator[Api]:
    """A server on the store, in this event loop, for as long as the block lasts."""
    made = make_server(
        store or MemoryStore(),
        clock or SteppedClock(),
        seeded_ids(1),
        limits or HistoryLimits(),
        options=ServerOptions(webhooks=webhooks),
    )
    async with running(made):
        yield Api(made)
