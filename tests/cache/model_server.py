"""A model of an API server's storage of one kind: objects, versions, history, accidents.

Tests drive it by hand; `ModelTransport` puts it behind the client.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse
from tests.cache.objects import an_object

Event = tuple[str, Document]


@dataclass
class ModelServer:
    version: int = 1
    objects: dict[str, Document] = field(default_factory=dict)
    history: list[tuple[int, Event]] = field(default_factory=list)
    compacted: int = 0
    """Watches can begin at this version or later."""
    base: dict[str, Document] = field(default_factory=dict)
    """The state at the compaction."""

    def put(self, name: str, value: str = "") -> None:
        self.version += 1
        type_ = "MODIFIED" if name in self.objects else "ADDED"
        self.objects[name] = an_object(name, self.version, value)
        self.history.append((self.version, (type_, self.objects[name])))

    def delete(self, name: str) -> None:
        if name in self.objects:
            self.version += 1
            gone = self.objects.pop(name)
            last = an_object(name, self.version, gone["value"])
            self.history.append((self.version, ("DELETED", last)))

    def compact(self) -> None:
        self.compacted, self.base = self.version, dict(self.objects)
        self.history.clear()

    def restore(self, objects: dict[str, Document], version: int) -> None:
        """Come back from a backup: versions that were given out are given out again."""
        self.objects, self.version = dict(objects), version
        self.compact()

    def events_after(self, version: int) -> list[Event] | None:
        """None: 410. A position from the future was never handed out in this life."""
        if version < self.compacted or version > self.version:
            return None
        return [event for at, event in self.history if at > version]

    def page(self, limit: int, continue_: str) -> dict[str, Any] | None:
        """A page of the state as it was when the list began; None: 410."""
        begun, offset = (int(part) for part in continue_.split(":")) if continue_ else (0, 0)
        begun = begun or self.version
        if begun < self.compacted or begun > self.version:
            return None
        names = sorted(self.state_at(begun))
        chosen = names[offset : offset + limit] if limit else names[offset:]
        end = offset + len(chosen)
        state = self.state_at(begun)
        return {
            "items": [state[name] for name in chosen],
            "metadata": {
                "resourceVersion": str(begun),
                "continue": f"{begun}:{end}" if end < len(names) else "",
            },
        }

    def state_at(self, version: int) -> dict[str, Document]:
        """What was there at the compaction, and the history since then up to the version."""
        state = dict(self.base)
        for at, (type_, object_) in self.history:
            if at > version:
                break
            if type_ == "DELETED":
                del state[object_["metadata"]["name"]]
            else:
                state[object_["metadata"]["name"]] = object_
        return state


def status(code: int, reason: str, message: str = "") -> Document:
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


GONE = status(410, "Expired", "too old")


@dataclass
class ModelTransport:
    """The model behind a transport. Tests pull at its strings."""

    server: ModelServer
    requests: list[Request] = field(default_factory=list)
    streams: list["asyncio.Queue[bytes | Exception | None]"] = field(default_factory=list)
    failing: list[Response | Exception] = field(default_factory=list)
    """Answers to give instead of proper ones, first come first served."""

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.failing:
            return self._misfortune()
        query = dict(request.query)
        page = self.server.page(int(query.get("limit", "0")), query.get("continue", ""))
        if page is None:
            return Response(status=410, body=msgspec.json.encode(GONE))
        return Response(status=200, body=msgspec.json.encode(page))

    def _misfortune(self) -> Response:
        given = self.failing.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.failing:
            given = self._misfortune()
            yield StreamedResponse(status=given.status, headers=given.headers, body=given.body)
            return
        query = dict(request.query)
        events = self.server.events_after(int(query.get("resourceVersion", "0")))
        if query.get("sendInitialEvents"):
            events = [("ADDED", o) for o in self.server.objects.values()]
            events.append(("BOOKMARK", _initial_end(self.server.version)))
        if events is None:
            yield StreamedResponse(status=410, body=msgspec.json.encode(GONE))
            return
        queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        for event in events:
            queue.put_nowait(line(*event))
        self.streams.append(queue)
        try:
            yield StreamedResponse(status=200, lines=_drain(queue))
        finally:
            self.streams.remove(queue)

    async def close(self) -> None:
        pass

    # Strings to pull

    def put(self, name: str, value: str = "") -> None:
        self.server.put(name, value)
        self.announce()

    def delete(self, name: str) -> None:
        self.server.delete(name)
        self.announce()

    def announce(self) -> None:
        _, event = self.server.history[-1]
        self.say(line(*event))

    def say(self, what: bytes | Exception | None) -> None:
        """A line to every stream; an error breaks it, None ends it."""
        for queue in list(self.streams):
            queue.put_nowait(what)


def line(type_: str, object_: Document) -> bytes:
    return msgspec.json.encode({"type": type_, "object": object_})


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def _initial_end(version: int) -> Document:
    annotations = {"k8s.io/initial-events-end": "true"}
    return {"metadata": {"resourceVersion": str(version), "annotations": annotations}}


async def _drain(queue: "asyncio.Queue[bytes | Exception | None]") -> AsyncIterator[bytes]:
    while (item := await queue.get()) is not None:
        if isinstance(item, Exception):
            raise item
        yield item


def disconnected() -> KubeError:
    return KubeError(Failure.UNKNOWN_OUTCOME, "connection reset")
