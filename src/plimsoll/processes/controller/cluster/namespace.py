"""Empties namespaces that are deleted, then lets them go: `decide.cluster.namespace_content`."""

from datetime import datetime, timedelta
from http import HTTPStatus

from plimsoll.api.core import Namespace
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, Resource, resources_by_path
from plimsoll.cache.store import StoreChange
from plimsoll.decide.cluster.namespace_content import (
    Clearing,
    Leftover,
    NamespaceReason,
    decide_namespace,
    finalized,
    is_ours_to_clear,
    pods_grace,
)
from plimsoll.decide.plan import ResourceName
from plimsoll.decide.resources import PODS
from plimsoll.enact.enactor import Done
from plimsoll.processes.controller.cluster.discovery import discover, metadata_only
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.backoff import Backoff
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import Deletion, Selection, WriteOptions

NAMESPACES = documents(resources_by_path()["", "v1", "namespaces"])
LAST_WORDS = timedelta(seconds=5)
"""Servers that have not heard of the deletion may still let objects in for a moment."""
PAUSES = Backoff(first=timedelta(milliseconds=100), limit=timedelta(minutes=1))
"""Between two attempts: short at first, since most things go at once."""
BACKGROUND = Deletion(propagation="Background")
UNSUPPORTED = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


class NamespaceDeletion(Loop):
    name = "namespace"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._attempts: dict[ObjectKey, int] = {}
        tools.observed.of(Namespace).on_change(self._changed)

    def _changed(self, change: StoreChange[Namespace]) -> None:
        if change.after is not None and change.after.is_being_deleted:
            self.queue.add_after(change.key, LAST_WORDS)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        namespace = await self.tools.client.find(NAMESPACES, key)
        if namespace is None or not is_ours_to_clear(namespace):
            self._attempts.pop(key, None)
            return None
        clearing = await self._clear(namespace)
        plan = decide_namespace(namespace, clearing, self.tools.clock.now())
        outcome = await self.enact(key, plan)
        if plan.reason == NamespaceReason.GONE and isinstance(outcome, Done):
            await self._finalize(key)
            return None
        attempts = self._attempts.get(key, 0)
        self._attempts[key] = attempts + 1
        return PAUSES.delay(attempts, self.tools.chance)

    async def _finalize(self, key: ObjectKey) -> None:
        """The status was just written: on the newest version, if it is still ours to clear."""
        namespace = await self.tools.client.find(NAMESPACES, key)
        if namespace is None or not is_ours_to_clear(namespace):
            return
        try:
            await self.tools.client.update(
                NAMESPACES, finalized(namespace), WriteOptions(subresource="finalize")
            )
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise

    async def _clear(self, namespace: Document) -> Clearing:
        """Pods first: what they use is still there while they end."""
        known = await discover(self.tools.client)
        deletable = [r for r in known.with_verbs("delete", "list") if r.namespaced]
        pods = [r for r in deletable if _name(r) == PODS]
        clearing = await self._clear_resources(namespace, pods)
        if not clearing.leftovers and not clearing.failures:
            others = [r for r in deletable if _name(r) != PODS]
            clearing = await self._clear_resources(namespace, others)
        return Clearing(
            leftovers=clearing.leftovers,
            failures=clearing.failures,
            undiscovered=known.failures,
        )

    async def _clear_resources(self, namespace: Document, resources: list[Resource]) -> Clearing:
        leftovers: list[Leftover] = []
        failures: list[str] = []
        for resource in resources:
            try:
                left = await self._clear_resource(namespace, resource)
            except KubeError as error:
                if error.code not in UNSUPPORTED:
                    failures.append(error.message)
            else:
                leftovers += [left] if left.objects else []
        return Clearing(leftovers=tuple(leftovers), failures=tuple(failures))

    async def _clear_resource(self, namespace: Document, resource: Resource) -> Leftover:
        client, kind = self.tools.client, metadata_only(resource)
        name, here = _name(resource), Selection(namespace=namespace["metadata"]["name"])
        found = (await client.list(kind, here)).items
        if not found:
            return Leftover(resource=name, objects=0)
        grace = await self._pods_grace(namespace, here) if name == PODS else timedelta()
        if "deletecollection" in resource.verbs:
            await client.delete_collection(kind, here, BACKGROUND)
        else:
            for item in found:
                await self._delete(resource, item.key)
        left = (await client.list(kind, here)).items
        return Leftover.of(name, [item.metadata for item in left], grace)

    async def _delete(self, resource: Resource, key: ObjectKey) -> None:
        try:
            await self.tools.client.delete(metadata_only(resource), key, BACKGROUND)
        except KubeError as error:
            if error.code not in UNSUPPORTED:
                raise

    async def _pods_grace(self, namespace: Document, here: Selection) -> timedelta:
        pods = (await self.tools.client.list(typed(Pod), here)).items
        deleted_at = datetime.fromisoformat(namespace["metadata"]["deletionTimestamp"])
        return pods_grace(pods, deleted_at=deleted_at, now=self.tools.clock.now())


def _name(resource: Resource) -> ResourceName:
    return ResourceName(resource.group, resource.version, resource.plural)
