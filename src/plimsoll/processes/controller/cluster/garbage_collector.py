"""Deletes objects whose owners are gone: `decide.cluster.garbage` for objects of every kind.

Every kind that can be listed, watched and deleted is watched, custom ones too; kinds come and go
while this runs. A kind that other loops observe is watched once for all of them. Steps that need to
know all dependents of an owner (its end, if it waits for them or leaves them behind) are not taken
before every watch has shown what there is.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from plimsoll.api.meta import ApiObject, ObjectKey, ObjectMeta, OwnerReference
from plimsoll.api.registry import Resource
from plimsoll.cache.informer import Informer
from plimsoll.cache.store import Store, StoreChange
from plimsoll.decide.cluster.garbage import (
    Examined,
    GarbageVerdict,
    bad_reference_event,
    decide_garbage,
    decide_orphaning,
    decide_waiting_owner,
    verdict_on_owner,
)
from plimsoll.decide.cluster.ownership_graph import (
    Attention,
    BadReference,
    GraphObject,
    OwnedIdentity,
    OwnershipGraph,
    identity_in,
)
from plimsoll.decide.plan import Plan, ResourceName
from plimsoll.processes.controller.cluster.discovery import (
    AnyObject,
    Discovery,
    discover,
    metadata_only,
)
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.errors import KubeError

DISCOVER_EVERY = timedelta(seconds=30)
SYNC_DEADLINE = timedelta(seconds=30)
UNSEEN_RECHECK = timedelta(seconds=30)
"""An owner that the server has and no watch has shown yet: it may be gone before it is seen."""
INCOMPLETE_RECHECK = timedelta(seconds=1)
REMEMBERED_ABSENT = 500
IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})


class UnknownKindError(Exception):
    """A reference names a kind that the server does not serve, at least not at the moment."""


class AbsentOwners:
    """Owners that the server did not have; since uids are never used again, this stays true."""

    def __init__(self) -> None:
        self._known: OrderedDict[OwnedIdentity, None] = OrderedDict()

    def __contains__(self, identity: OwnedIdentity) -> bool:
        return identity in self._known

    def add(self, identity: OwnedIdentity) -> None:
        self._known[identity] = None
        if len(self._known) > REMEMBERED_ABSENT:
            self._known.popitem(last=False)


@dataclass(frozen=True, slots=True)
class KindWatch:
    """What the graph learns of one kind."""

    informer: Informer[Any]
    end: Callable[[], object]


class GarbageCollector(Loop):
    """Its queue carries uids, as keys without a namespace."""

    name = "garbage-collector"
    workers = 8

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.graph = OwnershipGraph()
        self._absent = AbsentOwners()
        self._bad: dict[str, list[BadReference]] = {}
        """To be told when the dependent is examined, which is soon."""
        self._discovery = Discovery(resources=())
        self._watches: dict[Resource, KindWatch] = {}

    async def run(self) -> None:
        # Watches of an earlier run ended with it: what they knew is out of date.
        self.graph = OwnershipGraph()
        self._end_watches(self._watches.keys())
        async with asyncio.TaskGroup() as group:
            await self._discover(group)
            await self._first_sync()
            group.create_task(self._keep_discovering(group), name=f"{self.name} discovery")
            group.create_task(super().run(), name=self.name)

    async def _first_sync(self) -> None:
        try:
            async with self.tools.clock.timeout(SYNC_DEADLINE):
                for watch in self._watches.values():
                    await watch.informer.wait_synced()
        except TimeoutError:
            pass

    @property
    def _is_synced(self) -> bool:
        return all(watch.informer.has_synced for watch in self._watches.values())

    @property
    def _is_complete(self) -> bool:
        """No kind can have dependents that are not known."""
        return self._is_synced and not self._discovery.failures

    # What there is

    async def _keep_discovering(self, group: asyncio.TaskGroup) -> None:
        while True:
            await self.tools.clock.sleep(DISCOVER_EVERY)
            try:
                await self._discover(group)
            except KubeError:
                continue  # as before, until the server can be asked again

    async def _discover(self, group: asyncio.TaskGroup) -> None:
        self._discovery = await discover(self.tools.client)
        wanted = {
            resource
            for resource in self._discovery.with_verbs("delete", "list", "watch")
            if (resource.group, resource.plural) not in IGNORED
        }
        if not self._discovery.failures:
            self._end_watches(self._watches.keys() - wanted)
        for resource in sorted(wanted - self._watches.keys(), key=lambda r: r.qualified_name):
            self._watches[resource] = self._shared(resource) or self._opened(resource, group)

    def _end_watches(self, resources: Iterable[Resource]) -> None:
        for resource in tuple(resources):
            self._watches.pop(resource).end()

    def _shared(self, resource: Resource) -> KindWatch | None:
        """The watch of the loops that observe the kind, if there are any."""
        cached = self.tools.observed.find(resource)
        if cached is None or cached.informer is None:
            return None
        return KindWatch(cached.informer, cached.follow(self._handler(resource)))

    def _opened(self, resource: Resource, group: asyncio.TaskGroup) -> KindWatch:
        store: Store[AnyObject] = Store()
        informer = Informer(self.tools.client, metadata_only(resource), store)
        informer.on_change(self._handler(resource))
        return KindWatch(informer, group.create_task(informer.run()).cancel)

    def _handler(self, resource: Resource) -> Callable[[StoreChange[Any]], None]:
        def changed(change: StoreChange[ApiObject]) -> None:
            before, after = change.before, change.after
            if before is not None and (after is None or after.uid != before.uid):
                self._attend(self.graph.remove(before.uid))
            if after is not None:
                known = GraphObject.of(resource.api_version, resource.kind, after.metadata)
                self._attend(self.graph.put(known))

        return changed

    def _attend(self, attention: Attention) -> None:
        for uid in attention.examine:
            self.queue.add(ObjectKey("", uid))
        for bad in attention.bad:
            self._bad.setdefault(bad.dependent.uid, []).append(bad)

    # One object

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        known = self.graph.find(key.name)
        if known is None or self.graph.is_settled(key.name):
            self.queue.forget(key)
            return None
        try:
            item = await self._examine(known)
            if item is None:
                self._attend(self.graph.remove(known.uid))
                return None
            plan = await self._decide(item)
        except UnknownKindError:
            self.queue.add_rate_limited(key)
            return None
        if plan is None:
            return INCOMPLETE_RECHECK
        told = tuple(bad_reference_event(bad) for bad in self._bad.pop(known.uid, ()))
        await self.enact(key, replace(plan, writes=told + plan.writes))
        return self._recheck(item.metadata)

    async def _examine(self, known: GraphObject) -> Examined | None:
        identity = known.identity
        resource = self._resource(identity.api_version, identity.kind)
        key = ObjectKey(identity.namespace, identity.name)
        found = await self.tools.client.find(metadata_only(resource), key)
        if found is None or found.uid != known.uid:
            return None
        return Examined(resource=_name(resource), metadata=found.metadata)

    async def _decide(self, item: Examined) -> Plan | None:
        """None: to be decided when every watch has shown what there is."""
        uid = item.metadata.uid
        current = GraphObject.of("", "", item.metadata)
        if current.releases_dependents:
            if not self._is_complete:
                # A dependent that is overlooked now would be collected afterwards.
                return None
            dependents = [(self._name_of(d), d) for d in self.graph.dependents(uid)]
            return decide_orphaning(item, dependents)
        if current.awaits_dependents:
            return decide_waiting_owner(item, self.graph.blocking(uid)) if self._is_synced else None
        if current.is_being_deleted:
            return Plan(reason="BeingDeleted")
        references = item.metadata.owner_references
        verdicts = [await self._verdict(ref, item.metadata) for ref in references]
        return decide_garbage(item, verdicts, self.graph.dependents(uid))

    async def _verdict(self, reference: OwnerReference, item: ObjectMeta) -> GarbageVerdict:
        resource = self._resource(reference.api_version, reference.kind)
        if resource.namespaced and not item.namespace:
            return GarbageVerdict.IMPOSSIBLE
        identity = identity_in(reference, item.namespace if resource.namespaced else "")
        if identity in self._absent:
            return GarbageVerdict.ABSENT
        key = ObjectKey(identity.namespace, identity.name)
        owner = await self.tools.client.find(metadata_only(resource), key)
        verdict = verdict_on_owner(reference, owner.metadata if owner is not None else None)
        if verdict is GarbageVerdict.ABSENT:
            self._absent.add(identity)
        return verdict

    def _recheck(self, item: ObjectMeta) -> timedelta | None:
        """Owners that were never seen cannot be seen to go."""
        unseen = [ref for ref in item.owner_references if self.graph.find(ref.uid) is None]
        return UNSEEN_RECHECK if unseen else None

    def _resource(self, api_version: str, kind: str) -> Resource:
        found = self._discovery.by_kind.get((api_version, kind))
        if found is None:
            raise UnknownKindError(f"{api_version}/{kind}")
        return found

    def _name_of(self, known: GraphObject) -> ResourceName:
        return _name(self._resource(known.identity.api_version, known.identity.kind))


def _name(resource: Resource) -> ResourceName:
    return ResourceName(resource.group, resource.version, resource.plural)
