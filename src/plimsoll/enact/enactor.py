"""Carries out plans: writes in order, up to the first one that does not go through.

What happened is a value. A conflict means that the objects are not what the decision saw: nothing
is forced, the loop decides again. Only what is unclear or broken (`KubeError` of other kinds) is an
Obstacle with the error in it, to be tried again later.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import assert_never

from plimsoll.api.meta import ObjectKey, ObjectReference
from plimsoll.api.registry import Document, Resource, resources_by_path
from plimsoll.decide.plan import Create, Delete, Emit, Patch, Plan, ResourceName, Write
from plimsoll.enact.events import EventRecorder
from plimsoll.enact.replacing import replace_patched
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Deletion, WriteOptions, merge_patch

log = logging.getLogger(__name__)

OVERTAKEN = frozenset({Failure.CONFLICT, Failure.NOT_FOUND, Failure.ALREADY_EXISTS})


@dataclass(frozen=True, slots=True)
class Done:
    """Every write went through. `left` has the newest version of each object that was written."""

    left: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Another writer changed the object of this write first; later writes were not made."""

    write: Write
    error: KubeError
    left: tuple[Document, ...] = ()
    """What earlier writes of the plan have left."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The write was refused or its outcome is unknown; later writes were not made."""

    write: Write
    error: KubeError
    left: tuple[Document, ...] = ()


Outcome = Done | Overtaken | Obstacle


class Enactor:
    def __init__(
        self,
        client: KubeClient,
        events: EventRecorder,
        *,
        unpatchable: Collection[ResourceName] = (),
    ) -> None:
        """`unpatchable` are changed by replacing them: our role does not let us patch them."""
        self._client = client
        self._events = events
        self._unpatchable = frozenset(unpatchable)

    def through(self, client: KubeClient) -> "Enactor":
        """One that writes by another client, and tells by the same recorder."""
        return Enactor(client, self._events, unpatchable=self._unpatchable)

    async def enact(self, plan: Plan) -> Outcome:
        left: dict[tuple[ResourceName, ObjectKey], Document] = {}
        for write in plan.writes:
            try:
                await self._make(write, left)
            except KubeError as error:
                if error.failure in OVERTAKEN:
                    log.debug("write overtaken", extra=_fields(write, error))
                    return Overtaken(write, error, tuple(left.values()))
                log.warning("write failed", extra=_fields(write, error))
                return Obstacle(write, error, tuple(left.values()))
        return Done(tuple(left.values()))

    async def _make(
        self, write: Write, left: dict[tuple[ResourceName, ObjectKey], Document]
    ) -> None:
        match write:
            case Create():
                made = await self._client.create(_kind(write), write.document)
                left[write.resource, write.key] = made
            case Patch():
                before = left.get((write.resource, write.key))
                left[write.resource, write.key] = await self._change(write, before)
            case Delete():
                await self._delete(write)
            case Emit():
                self._events.emit(
                    reference_to(write.regarding),
                    write.reason,
                    write.message,
                    type_=write.type,
                    component=write.reporter,
                )
            case _:
                assert_never(write)
        if not isinstance(write, Emit) and log.isEnabledFor(logging.INFO):
            log.info("write made", extra=_fields(write))

    async def _change(self, write: Patch, before: Document | None) -> Document:
        version = _version(write, before)
        if write.resource in self._unpatchable:
            return await replace_patched(self._client, _kind(write), write, version)
        return await self._client.patch(
            _kind(write),
            write.key,
            merge_patch(_conditional(write, version)),
            WriteOptions(subresource=write.subresource),
        )

    async def _delete(self, write: Delete) -> None:
        deletion = Deletion(
            uid=write.uid,
            resource_version=write.version,
            grace_period_seconds=write.grace_seconds,
            propagation=write.propagation,
        )
        try:
            await self._client.delete(_kind(write), write.key, deletion)
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise


def _version(write: Patch, before: Document | None) -> str:
    """The one that the object must have; `before` is what an earlier write of the plan left."""
    if before is None or not write.version:
        return write.version
    left: str = before["metadata"]["resourceVersion"]
    return left


def _conditional(write: Patch, version: str) -> Document:
    """The patch with its preconditions inside, where the server checks them."""
    conditions = {"resourceVersion": version, "uid": write.uid}
    wanted = {name: value for name, value in conditions.items() if value}
    if not wanted:
        return write.patch
    return write.patch | {"metadata": write.patch.get("metadata", {}) | wanted}


def _kind(write: Create | Patch | Delete) -> Kind[Document]:
    """Custom kinds are in no table; the key tells whether they have a namespace."""
    name = write.resource
    known = resources_by_path().get((name.group, name.version, name.plural))
    return documents(known or _custom(name, namespaced=bool(write.key.namespace)))


def _custom(name: ResourceName, *, namespaced: bool) -> Resource:
    return Resource(
        group=name.group,
        version=name.version,
        plural=name.plural,
        kind="",
        singular="",
        namespaced=namespaced,
        short_names=(),
        categories=(),
        verbs=(),
        subresources=(),
    )


def reference_to(document: Document) -> ObjectReference:
    metadata = document["metadata"]
    return ObjectReference(
        kind=document.get("kind", ""),
        api_version=document.get("apiVersion", ""),
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
    )


def _fields(write: Write, error: KubeError | None = None) -> dict[str, str]:
    match write:
        case Emit():
            fields = {"write": "event", "reason": write.reason}
        case Create() | Delete():
            fields = {"write": type(write).__name__.lower(), str(write.resource): str(write.key)}
        case Patch():
            below = f"/{write.subresource}" if write.subresource else ""
            fields = {"write": "patch", f"{write.resource}{below}": str(write.key)}
        case _:
            assert_never(write)
    if error is not None:
        fields |= {"failure": error.failure, "error": str(error)}
    return fields
