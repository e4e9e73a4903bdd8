"""Tells of intents whose provisioner went with its node: `decide.repair.orphaned_intents`.

Looked for when a node goes, and from time to time: leases are not watched, since every node renews
one of its own every few seconds.
"""

from datetime import timedelta

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.provisioning.intents import INTENT, Intent, read_intent
from plimsoll.decide.records import RECORD
from plimsoll.decide.repair.orphaned_intents import decide_orphan, is_orphaned
from plimsoll.enact.enactor import Done
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import Selection

LEASES = documents(typed(Lease).resource)
NODES, CLAIMS, VOLUMES = typed(Node), typed(PersistentVolumeClaim), typed(PersistentVolume)
INTENTS = ObjectKey("", "intents")
"""What its queue carries."""
EVERY = timedelta(minutes=1)
TELL_AGAIN = timedelta(minutes=30)
"""Servers keep events for an hour."""


class OrphanedIntents(Loop):
    name = "orphaned-intents"
    workers = 1

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._nodes = tools.observed.of(Node)
        self._nodes.on_change(self._node_changed)
        self._told: dict[str, float] = {}
        """When each was told of, by the name of its lease."""
        self._orphaned = tools.metrics.gauge(
            "plimsoll_controller_intents_orphaned",
            "Volumes that a provisioner may have made on a node that is gone.",
        )
        self.queue.add(INTENTS)

    def _node_changed(self, change: StoreChange[Node]) -> None:
        if change.after is None:
            self.queue.add(INTENTS)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        selection = Selection(labels=f"{RECORD}={INTENT}")
        listed = (await self.tools.client.list(LEASES, selection)).items
        orphans = [orphan for lease in listed if (orphan := await self._find(lease)) is not None]
        self._orphaned.set(len(orphans))
        limit = self.tools.clock.monotonic() - TELL_AGAIN.total_seconds()
        self._told = {name: at for name, at in self._told.items() if at > limit}
        for namespace, intent in orphans:
            if intent.name not in self._told:
                await self._tell(key, namespace, intent)
        return EVERY

    async def _find(self, lease: Document) -> tuple[str, Intent] | None:
        """None: it is no orphan. The server is asked, not a cache."""
        intent = read_intent(lease)
        known = {node.name for node in self._nodes.view().objects}
        if intent is None or not is_orphaned(intent, known):
            return None
        if await self.tools.client.find(NODES, ObjectKey("", intent.node)) is not None:
            return None
        if await self.tools.client.find(VOLUMES, ObjectKey("", intent.volume_name)) is not None:
            return None  # recorded before the node went
        return lease["metadata"]["namespace"], intent

    async def _tell(self, key: ObjectKey, namespace: str, intent: Intent) -> None:
        claim = await self.tools.client.find(CLAIMS, intent.claim_key)
        outcome = await self.enact(key, decide_orphan(intent, claim, namespace))
        if isinstance(outcome, Done):
            self._told[intent.name] = self.tools.clock.monotonic()
