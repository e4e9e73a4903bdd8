"""Follows the labels of the Node object, so that the driver always knows where its node is.

A node whose domain is not known is waited for: the driver answers all other calls, its readiness
page and an event about the Node say what is missing, and it registers as soon as it is there. When
the domain has changed, it registers anew, so that kubelet or `plimsoll node` asks again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey, ObjectReference
from plimsoll.cache.informer import Informer
from plimsoll.cache.store import Store, StoreChange
from plimsoll.decide.ceph.domain_labels import DomainLabels, DomainNotKnown
from plimsoll.decide.ceph.node_domain import (
    AdvertisedDomain,
    DomainReason,
    domain_notice,
    find_advertised_domain,
)
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.processes.driver.homes import NodeHomes
from plimsoll.processes.driver.node.registration import Registration
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.runtime.ids import system_chance, system_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.supervise import Supervision, supervise
from plimsoll.wire.csi.server import EndpointError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

COMPONENT = "plimsoll-driver"
FIRST_LOOK = timedelta(seconds=5)
"""How long a starting driver waits for the Node object before it answers without knowing it."""
REGISTER_AGAIN_AFTER = timedelta(seconds=10)
QUIET = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedNode:
    """The node whose labels are read, and what is told of them to."""

    node: NodeSettings
    wanted: DomainLabels
    homes: NodeHomes
    registration: Registration


class DomainFollower:
    def __init__(self, followed: FollowedNode, client: KubeClient, recorder: EventRecorder) -> None:
        self._followed = followed
        self._clock = client.clock
        self._recorder = recorder
        self._store: Store[Node] = Store()
        name = followed.node.id
        self.informer = Informer(
            client, typed(Node), self._store, selection=Selection(fields=f"metadata.name={name}")
        )
        self.informer.on_change(self._node_changed)
        self._changed = asyncio.Event()
        self._looked = asyncio.Event()
        self._last: AdvertisedDomain | None = None
        status = (
            f"Node {name} was not read from the API server yet; the log of the driver says why."
        )
        followed.homes.put(name, DomainNotKnown(status=status))

    def _node_changed(self, _: StoreChange[Node]) -> None:
        self._changed.set()

    async def looked_once(self) -> None:
        """Return when the Node object was read, but wait no longer than for the first look."""
        try:
            async with self._clock.timeout(FIRST_LOOK):
                await self._looked.wait()
        except TimeoutError:
            log.warning("node not read yet", extra={"node": self._followed.node.id})

    async def run(self) -> None:
        """Never returns; cancel it."""
        await self.informer.wait_synced()
        while True:
            self._changed.clear()
            await self._look()
            await self._changed.wait()

    async def _look(self) -> None:
        followed = self._followed
        node = self._store.snapshot().get(ObjectKey("", followed.node.id))
        found = find_advertised_domain(followed.wanted, node, node_name=followed.node.id)
        if found != self._last:
            followed.homes.put(followed.node.id, found)
            self._tell(found, node)
            self._last = found
        await self._register(found)
        self._looked.set()

    async def _register(self, found: AdvertisedDomain) -> None:
        if isinstance(found, DomainNotKnown):
            return
        try:
            await self._followed.registration.offer(found.topology)
        except EndpointError as error:
            log.error("driver cannot be registered", extra={"error": str(error)})  # noqa: TRY400 - no bug
            self._clock.call_later(REGISTER_AGAIN_AFTER, self._changed.set)

    def _tell(self, found: AdvertisedDomain, node: Node | None) -> None:
        notice = domain_notice(found, node_name=self._followed.node.id)
        level = logging.INFO if notice.reason is DomainReason.FOUND else logging.WARNING
        facts = {"node": self._followed.node.id, "reason": notice.reason, "told": notice.message}
        log.log(level, "domain of the node read", extra=facts)
        if node is not None:
            regarding = ObjectReference(api_version="v1", kind="Node", name=node.name, uid=node.uid)
            self._recorder.emit(regarding, notice.reason, notice.message, type_=notice.type)


@asynccontextmanager
async def following(
    followed: FollowedNode, client: KubeClient, metrics: Metrics
) -> AsyncIterator[None]:
    """Follow the labels as long as the block lasts; it begins after the first look at them."""
    told = RecorderSettings(component=COMPONENT, instance=followed.node.id, quiet=QUIET)
    recorder = EventRecorder(client, told, ids=system_ids(), metrics=metrics)
    follower = DomainFollower(followed, client, recorder)
    loops = {
        "watch Node": follower.informer.run,
        "follow domain labels": follower.run,
        "write events": recorder.run,
    }
    chance: Random = system_chance()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(followed.registration.close)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        supervision = Supervision(clock=client.clock, chance=chance, metrics=metrics)
        running = group.create_task(supervise(loops, supervision), name="domain of the node")
        stack.callback(running.cancel)
        await follower.looked_once()
        yield
