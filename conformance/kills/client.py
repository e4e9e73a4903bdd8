"""A client that outlives the server it talks to, and remembers what it was promised.

Each request is repeated until the server answers it. What was acknowledged is noted: an object that
was created and that we never asked to be deleted must be there in the end, with the uid it had.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import system_chance
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, documents, key_of
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment
from plimsoll.wire.parameters import Deletion, Selection, merge_patch

T = TypeVar("T", bound=ApiObject | Document)
R = TypeVar("R")

AGAIN_SECONDS = 0.3
LOOK_SECONDS = 0.4
OUTAGES = frozenset({Failure.UNAVAILABLE, Failure.TIMEOUT, Failure.UNKNOWN_OUTCOME})
Promised = tuple[str, ObjectKey]
"""The kind and the key of an object."""


class EnduringClient:
    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.promised: dict[Promised, str] = {}
        """The uid of each object that was acknowledged and is not to go."""
        self.made: Counter[str] = Counter()
        """How many objects of each kind were acknowledged."""
        self.outages = 0
        """How many requests had no answer."""

    async def create(self, document: Document) -> None:
        created = await self._created(_kind(document), document)
        self.promised[document["kind"], key_of(document)] = created["metadata"]["uid"]
        self.made[document["kind"]] += 1

    async def _created(self, kind: Kind[Document], document: Document) -> Document:
        key, may_be_ours = key_of(document), False
        while True:
            try:
                return await self._client.create(kind, document)
            except KubeError as error:
                if error.failure is Failure.ALREADY_EXISTS and may_be_ours:
                    return await self._again(lambda: self._client.get(kind, key))
                may_be_ours = may_be_ours or not error.is_certain
                await self._after(error)

    async def delete(self, kind: Kind[Any], key: ObjectKey, *, grace: int | None = None) -> None:
        """Returns when the server has accepted it; the object may stay for a while."""
        self.promised.pop((kind.resource.kind, key), None)

        async def delete() -> None:
            try:
                await self._client.delete(kind, key, Deletion(grace_period_seconds=grace))
            except KubeError as error:
                if error.failure is not Failure.NOT_FOUND:
                    raise

        await self._again(delete)

    async def patch(self, kind: Kind[Any], key: ObjectKey, changes: Document) -> None:
        await self._again(lambda: self._client.patch(kind, key, merge_patch(changes)))

    async def find(self, kind: Kind[T], key: ObjectKey) -> T | None:
        return await self._again(lambda: self._client.find(kind, key))

    async def find_document(self, kind: str, key: ObjectKey) -> Document | None:
        """By the kind's name alone: of those that are used here, each is unique."""
        (resource,) = {each for (_, _, name), each in resources_by_kind().items() if name == kind}
        return await self._again(lambda: self._client.find(documents(resource), key))

    async def list(self, kind: Kind[T], namespace: str = "") -> tuple[T, ...]:
        selection = Selection(namespace=namespace)
        return (await self._again(lambda: self._client.list(kind, selection))).items

    async def until(self, kind: Kind[T], key: ObjectKey, seen: Callable[[T], bool]) -> T:
        """The object once it is as wanted. Without a limit: the caller has one."""
        while True:
            found = await self.find(kind, key)
            if found is not None and seen(found):
                return found
            await asyncio.sleep(LOOK_SECONDS)

    async def until_gone(self, kind: Kind[Any], key: ObjectKey, uid: str = "") -> None:
        """With a uid: that object, whether or not another one has its name by now."""
        while True:
            found = await self.find(kind, key)
            if found is None or uid not in ("", found.uid):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _again(self, request: Callable[[], Awaitable[R]]) -> R:
        while True:
            try:
                return await request()
            except KubeError as error:
                await self._after(error)

    async def _after(self, error: KubeError) -> None:
        """Raises what another attempt cannot change."""
        if error.failure not in OUTAGES:
            raise error
        self.outages += 1
        await asyncio.sleep(AGAIN_SECONDS)


def _kind(document: Document) -> Kind[Document]:
    group, _, version = document["apiVersion"].rpartition("/")
    return documents(resources_by_kind()[group, version, document["kind"]])


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[EnduringClient]:
    around = KubeconfigEnvironment(environment=dict(os.environ), clock=SystemClock())
    client = connect(ConnectionOptions(kubeconfig=str(kubeconfig)), around, system_chance())
    try:
        yield EnduringClient(client)
    finally:
        await client.close()
