"""The Kubernetes client: requests about kinds, over any transport.

Answers other than success are raised as KubeError. What the server certainly did not process and
asks to be repeated later (429 or 503 with a time to come back) is repeated here; for reads any
answer that names such a time is. Everything else is for the caller to decide.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from random import Random
from typing import TypeVar

import msgspec

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME, Clock
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.errors import Failure, KubeError, error_from_response
from plimsoll.wire.fenced import FencedTransport
from plimsoll.wire.kind import Kind, Page, WatchEvent, documents, key_of
from plimsoll.wire.parameters import (
    AS_USUAL,
    EVERYTHING,
    FIRST_PAGE,
    PLAIN,
    Deletion,
    Paging,
    PatchBody,
    Selection,
    WatchFrom,
    WriteOptions,
)
from plimsoll.wire.transport import Request, Response, Transport

T = TypeVar("T", bound=ApiObject | Document)

JSON = "application/json"
READ_HEADERS = {"accept": JSON}
WRITE_HEADERS = {"accept": JSON, "content-type": JSON}

ATTEMPTS = 6
LEAST_ERROR = int(HTTPStatus.BAD_REQUEST)
RETRY_BACKOFF = Backoff(first=timedelta(milliseconds=200), limit=timedelta(seconds=10))
LONGEST_RETRY_AFTER = timedelta(minutes=1)


class KubeClient:
    def __init__(
        self, transport: Transport, *, clock: Clock, chance: Random, manager: str = "plimsoll"
    ) -> None:
        """`manager` is recorded by the server as the owner of the fields that are written."""
        self._transport = transport
        self._clock = clock
        self._chance = chance
        self._manager = manager

    def fenced(self, fence: Fence) -> "KubeClient":
        """The same client, for the time that the fence is open; the connections stay ours."""
        transport = FencedTransport(self._transport, fence)
        return KubeClient(transport, clock=self._clock, chance=self._chance, manager=self._manager)

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def chance(self) -> Random:
        return self._chance

    async def get(self, kind: Kind[T], key: ObjectKey, *, subresource: str = "") -> T:
        path = kind.path(key.namespace, key.name, subresource)
        return await self._decoded(kind, Request(method="GET", path=path, headers=READ_HEADERS))

    async def find(self, kind: Kind[T], key: ObjectKey) -> T | None:
        """Like get, but an object that does not exist is None."""
        try:
            return await self.get(kind, key)
        except KubeError as error:
            if error.failure is Failure.NOT_FOUND:
                return None
            raise

    async def list_page(
        self, kind: Kind[T], selection: Selection = EVERYTHING, paging: Paging = FIRST_PAGE
    ) -> Page[T]:
        request = Request(
            method="GET",
            path=kind.path(selection.namespace),
            query=tuple(selection.query() + paging.query()),
            headers=READ_HEADERS,
        )
        body = (await self._send(request)).body
        try:
            return kind.decode_page(body)
        except msgspec.DecodeError as error:
            raise _unreadable(request, error) from error

    async def list(self, kind: Kind[T], selection: Selection = EVERYTHING) -> Page[T]:
        """All pages as one. Raises GONE when the server forgot the list before its end."""
        page = await self.list_page(kind, selection)
        items = list(page.items)
        while page.continue_:
            page = await self.list_page(kind, selection, Paging(continue_=page.continue_))
            items += page.items
        return replace(page, items=tuple(items))

    @asynccontextmanager
    async def watch(
        self, kind: Kind[T], start: WatchFrom, selection: Selection = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[WatchEvent[T]]]:
        request = Request(
            method="GET",
            path=kind.path(selection.namespace),
            query=tuple(selection.query() + start.query()),
            headers=READ_HEADERS,
        )
        async with self._transport.stream(request) as response:
            if response.status != HTTPStatus.OK:
                raise error_from_response(
                    response.status, response.headers, response.body, operation=_name(request)
                )
            async with aclosing(_events(kind, request, response.lines)) as events:
                yield events

    async def create(self, kind: Kind[T], document: Document, options: WriteOptions = PLAIN) -> T:
        """The document's metadata says where; a subresource (`binding`) is created on its name."""
        key = key_of(document)
        name = key.name if options.subresource else ""
        path = kind.path(key.namespace, name, options.subresource)
        return await self._decoded(kind, self._write("POST", path, document, options))

    async def update(self, kind: Kind[T], document: Document, options: WriteOptions = PLAIN) -> T:
        """Replace the whole object: only for documents, structs do not hold every field."""
        key = key_of(document)
        path = kind.path(key.namespace, key.name, options.subresource)
        return await self._decoded(kind, self._write("PUT", path, document, options))

    async def update_status(self, kind: Kind[T], document: Document) -> T:
        return await self.update(kind, document, WriteOptions(subresource="status"))

    async def patch(
        self, kind: Kind[T], key: ObjectKey, patch: PatchBody, options: WriteOptions = PLAIN
    ) -> T:
        request = Request(
            method="PATCH",
            path=kind.path(key.namespace, key.name, options.subresource),
            query=self._write_query(options),
            headers={"accept": JSON, "content-type": patch.content_type},
            body=patch.body,
        )
        return await self._decoded(kind, request)

    async def delete(self, kind: Kind[T], key: ObjectKey, deletion: Deletion = AS_USUAL) -> None:
        """Returns when the deletion is accepted; finalizers and grace periods may delay it."""
        path = kind.path(key.namespace, key.name)
        body = msgspec.json.encode(deletion.body())
        await self._send(Request(method="DELETE", path=path, headers=WRITE_HEADERS, body=body))

    async def delete_collection(
        self, kind: Kind[T], selection: Selection, deletion: Deletion = AS_USUAL
    ) -> None:
        request = Request(
            method="DELETE",
            path=kind.path(selection.namespace),
            query=tuple(selection.query()),
            headers=WRITE_HEADERS,
            body=msgspec.json.encode(deletion.body()),
        )
        await self._send(request)

    async def bind(self, pod: ObjectKey, node: str, *, uid: str = "", version: str = "") -> None:
        """Put a pod on a node. With a uid: only that very pod, not a namesake made since. With a
        version: only while no other writer has changed it."""
        pods = documents(resources_by_path()["", "v1", "pods"])
        conditions = {"uid": uid, "resourceVersion": version}
        metadata = {"namespace": pod.namespace, "name": pod.name} | {
            field: value for field, value in conditions.items() if value
        }
        binding: Document = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.create(pods, binding, WriteOptions(subresource="binding"))

    async def raw_get(
        self, path: str, query: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        """The body of any GET: `/version`, `/readyz`, `/openapi/v3`."""
        pairs = tuple((query or {}).items())
        headers = READ_HEADERS | {"accept": accept} if accept else READ_HEADERS
        request = Request(method="GET", path=path, query=pairs, headers=headers)
        return (await self._send(request)).body

    async def close(self) -> None:
        await self._transport.close()

    def _write(self, method: str, path: str, document: Document, options: WriteOptions) -> Request:
        return Request(
            method=method,
            path=path,
            query=self._write_query(options),
            headers=WRITE_HEADERS,
            body=msgspec.json.encode(document),
        )

    def _write_query(self, options: WriteOptions) -> tuple[tuple[str, str], ...]:
        return (("fieldManager", self._manager), *options.query())

    async def _decoded(self, kind: Kind[T], request: Request) -> T:
        response = await self._send(request)
        try:
            return kind.decode(response.body)
        except msgspec.DecodeError as error:
            raise _unreadable(request, error) from error

    async def _send(self, request: Request) -> Response:
        for attempt in range(ATTEMPTS):
            response = await self._transport.request(request)
            if response.status < LEAST_ERROR:
                return response
            asked_for = _repeated_after(request, response)
            if asked_for is None or attempt == ATTEMPTS - 1:
                # Not in a name of this frame: the traceback refers to the frame, and the circle
                # would keep the answer until the collector finds it.
                raise _refusal(request, response)
            await self._clock.sleep(self._pause(asked_for, attempt))
        raise AssertionError("the last attempt returns or raises")

    def _pause(self, asked_for: timedelta, attempt: int) -> timedelta:
        backoff = RETRY_BACKOFF.delay(attempt, self._chance)
        return max(min(asked_for, LONGEST_RETRY_AFTER), NO_TIME) + backoff


def _refusal(request: Request, response: Response) -> KubeError:
    return error_from_response(
        response.status, response.headers, response.body, operation=_name(request)
    )


def _repeated_after(request: Request, response: Response) -> timedelta | None:
    """How long the server asks to wait; None: the request is not to be repeated."""
    error = _refusal(request, response)
    return error.retry_after if _may_repeat(request, error) else None


def _may_repeat(request: Request, error: KubeError) -> bool:
    return error.is_passing and (request.is_read or error.is_certain)


async def _events(
    kind: Kind[T], request: Request, lines: AsyncIterator[bytes]
) -> AsyncGenerator[WatchEvent[T], None]:
    async for line in lines:
        try:
            event = kind.decode_event(line)
        except msgspec.DecodeError as error:
            raise _unreadable(request, error) from error
        yield event


def _unreadable(request: Request, error: msgspec.DecodeError) -> KubeError:
    problem = f"the answer cannot be read: {error}"
    return KubeError(Failure.UNKNOWN_OUTCOME, problem, operation=_name(request))


def _name(request: Request) -> str:
    return f"{request.method} {request.path}"
