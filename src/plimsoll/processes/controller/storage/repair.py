"""Repairs states that no other loop ends, as far as it was asked for: the rules of `decide.repair`.

Each rule that is switched on looks over the whole cluster from time to time. What it finds wrong
is checked with the server before anything is written, and no more than so many repairs are made
in a minute: a mistake in a rule, or about the cluster, stays small.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ObjectKey, OwnerReference
from plimsoll.api.pods import Pod
from plimsoll.api.registry import resources_by_kind
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.repair.direct_node import decide_direct_node, waits_for_scheduler
from plimsoll.decide.repair.lost_volumes import (
    LostVolumesView,
    decide_lost_volume,
    may_be_given_up,
    names_of,
    pinned_node,
)
from plimsoll.decide.repair.orphaned_capacity import (
    CapacityEvidence,
    complaints,
    decide_orphaned_capacity,
    leases_of_publisher,
)
from plimsoll.decide.repair.repairs import Repair, RepairRule, as_plan, as_rehearsal
from plimsoll.decide.repair.selected_node import decide_selected_node, selected_node_while_unbound
from plimsoll.processes.controller.cluster.discovery import metadata_only
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.kind import typed
from plimsoll.wire.parameters import Selection

NODES, PODS, CLAIMS = typed(Node), typed(Pod), typed(PersistentVolumeClaim)
LEASES = typed(Lease)
MINUTE = timedelta(minutes=1)
TELL_AGAIN = timedelta(minutes=30)
"""Servers keep events for an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    rules: frozenset[RepairRule] = field(default_factory=frozenset)
    """Those that are switched on; none by default."""
    dry_run: bool = False
    """Only tell by events what would be done."""
    per_minute: int = 10
    """How many repairs at most."""
    every: timedelta = timedelta(seconds=10)
    """How often a rule looks over the cluster."""
    node_missing_for: timedelta = timedelta(minutes=1)
    """How long a selected node must be missing before it counts as gone."""
    node_lost_after: timedelta = timedelta(hours=1)
    """How long a node must be gone before volumes on its disks are given up."""


OFF = RepairSettings()
Found = AsyncIterator[Repair]


class Missing:
    """For how long nodes have been missing, as far as this process has seen."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since: dict[str, float] = {}

    def observe(self, wanted: set[str], present: set[str]) -> None:
        """All names that are asked for, and all that exist."""
        now = self._monotonic()
        self._since = {name: self._since.get(name, now) for name in wanted - present}

    def duration(self, name: str) -> timedelta | None:
        """None: it is there."""
        since = self._since.get(name)
        return None if since is None else timedelta(seconds=self._monotonic() - since)


class Repairs(Loop):
    """Its queue carries rules, as keys without a namespace."""

    name = "repair"
    workers = 1

    def __init__(self, tools: Tools, settings: RepairSettings = OFF) -> None:
        super().__init__(tools)
        self._settings = settings
        self._recent: deque[float] = deque()
        self._told: dict[tuple[RepairRule, str], float] = {}
        """Dry run: by rule and uid, when it was told."""
        self._missing = {rule: Missing(tools.clock.monotonic) for rule in RepairRule}
        if settings.rules:
            self._watch()
        for rule in sorted(settings.rules):
            self.queue.add(ObjectKey("", rule.value))

    def _watch(self) -> None:
        observed = self.tools.observed
        self._claims, self._pods = observed.of(PersistentVolumeClaim), observed.of(Pod)
        self._volumes, self._nodes = observed.of(PersistentVolume), observed.of(Node)
        self._classes, self._drivers = observed.of(StorageClass), observed.of(CSIDriver)
        self._csi_nodes = observed.of(CSINode)
        self._attachments = observed.of(VolumeAttachment)
        self._capacities = observed.of(CSIStorageCapacity)
        self._pods.index(PODS_BY_CLAIM, claims_of)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        rules: dict[RepairRule, Callable[[], Found]] = {
            RepairRule.SELECTED_NODE: self._selected_nodes,
            RepairRule.DIRECT_NODE: self._direct_nodes,
            RepairRule.LOST_NODE_VOLUMES: self._lost_volumes,
            RepairRule.ORPHANED_CAPACITY: self._orphaned_capacities,
        }
        self._forget_told()
        async for repair in rules[RepairRule(key.name)]():
            if self._settings.dry_run:
                await self._rehearse(key, repair)
            elif self._may_repair():
                await self.enact(key, as_plan(repair))
            else:
                break
        return self._settings.every

    async def _rehearse(self, key: ObjectKey, repair: Repair) -> None:
        uid = repair.regarding["metadata"].get("uid", "")
        if not self._is_told(repair.rule, uid):
            self._told[repair.rule, uid] = self.tools.clock.monotonic()
            await self.enact(key, as_rehearsal(repair))

    def _is_told(self, rule: RepairRule, uid: str) -> bool:
        return (rule, uid) in self._told

    def _forget_told(self) -> None:
        """So that it is told again before the event is gone, and nothing is kept for ever."""
        limit = self.tools.clock.monotonic() - TELL_AGAIN.total_seconds()
        self._told = {what: at for what, at in self._told.items() if at > limit}

    def _may_repair(self) -> bool:
        now = self.tools.clock.monotonic()
        while self._recent and now - self._recent[0] >= MINUTE.total_seconds():
            self._recent.popleft()
        if len(self._recent) >= self._settings.per_minute:
            return False
        self._recent.append(now)
        return True

    def _node_names(self) -> set[str]:
        return {key.name for key in self._nodes.view().objects}

    async def _is_gone(self, node: str) -> bool:
        return await self.tools.client.find(NODES, ObjectKey("", node)) is None

    # The rules

    async def _selected_nodes(self) -> Found:
        claims = self._claims.view().objects.values()
        waiting = [
            (claim, node) for claim in claims if (node := selected_node_while_unbound(claim))
        ]
        missing = self._missing[RepairRule.SELECTED_NODE]
        missing.observe({node for _, node in waiting}, self._node_names())
        volumes = list(self._volumes.view().objects.values())
        for claim, node in waiting:
            absence = missing.duration(node)
            if absence is None or absence < self._settings.node_missing_for:
                continue
            repair = decide_selected_node(claim, volumes, node_is_gone=await self._is_gone(node))
            if repair is not None:
                yield repair

    async def _direct_nodes(self) -> Found:
        pods, nodes = self._pods.view(), self._nodes.view().objects
        for claim in self._claims.view().objects.values():
            if not waits_for_scheduler(claim):
                continue
            storage_class = self._classes.view().get(ObjectKey("", claim.storage_class))
            users = pods.by(PODS_BY_CLAIM, str(claim.key)).values()
            if storage_class is None or not users:
                continue
            volumes = [
                volume
                for volume in self._volumes.view().objects.values()
                if volume.storage_class == claim.storage_class
            ]
            repair = decide_direct_node(
                claim, storage_class, pods=users, nodes=nodes, volumes=volumes
            )
            if repair is not None:
                yield repair

    async def _lost_volumes(self) -> Found:
        volumes = [v for v in self._volumes.view().objects.values() if may_be_given_up(v)]
        missing, grace = (
            self._missing[RepairRule.LOST_NODE_VOLUMES],
            self._settings.node_lost_after,
        )
        present = set[str]().union(*map(names_of, self._nodes.view().objects.values()))
        missing.observe({pinned_node(volume) for volume in volumes}, present)
        for volume in volumes:
            absence = missing.duration(pinned_node(volume))
            if absence is None or absence < grace:
                continue
            if self._is_told(RepairRule.LOST_NODE_VOLUMES, volume.uid):
                continue  # reading all from the server is not cheap
            view = await self._read_view(volume)
            repair = decide_lost_volume(volume, view, gone_for=absence, grace=grace)
            if repair is not None:
                yield repair

    async def _read_view(self, volume: PersistentVolume) -> LostVolumesView:
        client, key = self.tools.client, volume.spec.claim
        nodes = (await client.list(NODES)).items
        listed = (await client.list(typed(VolumeAttachment))).items
        attachments = [a for a in listed if a.spec.source.persistent_volume_name == volume.name]
        if key is None:
            return LostVolumesView(nodes=nodes, attachments=attachments)
        pods = (await client.list(PODS, Selection(namespace=key.namespace))).items
        claim = await client.find(CLAIMS, key)
        return LostVolumesView(nodes=nodes, pods=pods, attachments=attachments, claim=claim)

    async def _orphaned_capacities(self) -> Found:
        for capacity in self._capacities.view().objects.values():
            evidence = self._evidence(capacity)
            if not capacity.metadata.owner_references and not list(complaints(capacity, evidence)):
                continue
            repair = decide_orphaned_capacity(capacity, await self._asked(capacity, evidence))
            if repair is not None:
                yield repair

    def _evidence(self, capacity: CSIStorageCapacity) -> CapacityEvidence:
        installed = {key.name for key in self._drivers.view().objects}
        for csi_node in self._csi_nodes.view().objects.values():
            installed |= {driver.name for driver in csi_node.spec.drivers or ()}
        return CapacityEvidence(
            storage_class=self._classes.view().get(ObjectKey("", capacity.storage_class_name)),
            drivers=installed,
            nodes=list(self._nodes.view().objects.values()),
            now=self.tools.clock.now(),
        )

    async def _asked(
        self, capacity: CSIStorageCapacity, evidence: CapacityEvidence
    ) -> CapacityEvidence:
        owners = capacity.metadata.owner_references
        gone = [await self._owner_is_gone(owner, capacity.namespace) for owner in owners]
        return CapacityEvidence(
            owner_is_gone=bool(gone) and all(gone),
            storage_class=evidence.storage_class,
            drivers=evidence.drivers,
            nodes=evidence.nodes,
            lease=await self._lease_of(capacity),
            now=evidence.now,
        )

    async def _lease_of(self, capacity: CSIStorageCapacity) -> Lease | None:
        for key in leases_of_publisher(capacity):
            if (lease := await self.tools.client.find(LEASES, key)) is not None:
                return lease
        return None

    async def _owner_is_gone(self, owner: OwnerReference, namespace: str) -> bool:
        """A kind that is not known says nothing about its objects."""
        group, _, version = owner.api_version.rpartition("/")
        resource = resources_by_kind().get((group, version, owner.kind))
        if resource is None:
            return False
        key = ObjectKey(namespace if resource.namespaced else "", owner.name)
        found = await self.tools.client.find(metadata_only(resource), key)
        return found is None or found.uid != owner.uid
