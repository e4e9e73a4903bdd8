"""A cluster of documents in which binding decisions are carried out.

It keeps claims and volumes as an API server does: each write that changes something makes a new
version, and a write on an old version is a conflict. It also is what the decisions look at.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.patch import merge_patch
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import canonical_quantity
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.claim import decide_claim
from plimsoll.decide.claims.match import Search
from plimsoll.decide.claims.operations import (
    DecideAgain,
    Decision,
    DeleteBacking,
    DeleteOutcome,
    Failed,
    Finished,
    InUse,
    Operation,
    Provision,
    Provisioned,
    ProvisionOutcome,
    ReadClaim,
    Recycle,
    RecycleOutcome,
    RefuseClaim,
)
from plimsoll.decide.claims.reclaim import after_delete, after_recycle, is_released
from plimsoll.decide.claims.volume import Confirmed, decide_volume
from plimsoll.decide.claims.volume_index import VolumeIndex
from plimsoll.decide.plan import Create, Delete, Emit, Patch, Plan, Write
from plimsoll.decide.provisioning.in_process.provision import after_provision

CLAIM, VOLUME = "persistentvolumeclaims", "persistentvolumes"


class ConflictError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Plugin:
    """Knows every kind of volume; `outcomes` says how its operations end."""

    outcomes: dict[str, str]
    name: str = "kubernetes.io/mock-volume"
    takes_mount_options: bool = False
    recycles: bool = True

    def objection(self, _claim: PersistentVolumeClaim, _class: StorageClass) -> str:
        configured = self.outcomes["provision"]
        return "" if configured else "Mock plugin error: no provisionCalls configured"

    def provision(self, operation: Provision) -> ProvisionOutcome:
        if self.outcomes["provision"] != "ok":
            return Failed("simulated provisioning failure")
        spec = operation.claim.spec
        volume = {
            "spec": {
                "capacity": {"storage": spec.resources.requests["storage"]},
                "accessModes": list(spec.access_modes),
                "persistentVolumeReclaimPolicy": operation.storage_class.reclaim_policy,
                "gcePersistentDisk": {"pdName": ""},
                "volumeMode": spec.volume_mode,
            }
        }
        return Provisioned(volume)

    def delete(self, volume: PersistentVolume) -> DeleteOutcome:
        match self.outcomes["delete"]:
            case "ok":
                return Finished()
            case "inuse":
                return InUse("simulated in-use failure")
            case "error":
                return Failed("simulated delete failure")
            case _:
                return Failed(
                    f'failed to create deleter for volume "{volume.name}": '
                    "Mock plugin error: no deleteCalls configured"
                )

    def recycle(self) -> RecycleOutcome:
        match self.outcomes["recycle"]:
            case "ok":
                return Finished()
            case "error":
                return Failed("simulated recycle failure")
            case _:
                return Failed("Mock plugin error: no recycleCalls configured")


@dataclass(frozen=True, slots=True)
class Plugins:
    only: Plugin | None = None

    def find(self, name: str) -> Plugin | None:
        return self.only if self.only and self.only.name == name else None

    def find_for_source(self, _volume: PersistentVolume) -> Plugin | None:
        return self.only


@dataclass(slots=True)
class World:
    documents: dict[tuple[str, ObjectKey], Document] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    provisioners: Plugins = Plugins()
    provisions_dynamically: bool = True
    unseen: frozenset[ObjectKey] = frozenset()
    """Claims that exist, but that the controller did not hear of yet."""
    writes: list[str] = field(default_factory=list)
    events: list[Document] = field(default_factory=list)

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return None if key in self.unseen else self.read_claim(key)

    def read_claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        document = self.documents.get((CLAIM, key))
        return from_document(PersistentVolumeClaim, document) if document else None

    def volume(self, name: str) -> PersistentVolume | None:
        document = self.documents.get((VOLUME, ObjectKey("", name)))
        return from_document(PersistentVolume, document) if document else None

    def candidates(self, search: Search) -> Iterable[PersistentVolume]:
        return self._index().candidates(search)

    def offers(self, access_modes: Iterable[str]) -> bool:
        return self._index().offers(access_modes)

    def _index(self) -> VolumeIndex:
        index = VolumeIndex()
        for (kind, _), document in self.documents.items():
            if kind == VOLUME:
                index.put(from_document(PersistentVolume, document))
        return index

    def storage_class(self, name: str) -> StorageClass | None:
        return self.classes.get(name)

    def storage_classes(self) -> Iterable[StorageClass]:
        return self.classes.values()

    def node(self, name: str) -> Node | None:
        return self.nodes.get(name)

    def pods_using(self, claim: ObjectKey) -> Iterable[Pod]:
        return [pod for pod in self.pods if claim in pod.claims]

    def enact(self, plan: Plan) -> None:
        written: set[tuple[str, ObjectKey]] = set()
        for write in plan.writes:
            self._make(write, written)

    def _make(self, write: Write, written: set[tuple[str, ObjectKey]]) -> None:
        match write:
            case Emit():
                self.events.append(_event(write))
            case Create():
                place = (write.resource.plural, write.key)
                self.documents[place] = _created(write.document)
                self._record("create", write)
            case Delete():
                del self.documents[write.resource.plural, write.key]
                self._record("delete", write)
            case Patch():
                place = (write.resource.plural, write.key)
                current = self.documents[place]
                if place not in written and write.version != _version(current):
                    raise ConflictError(write)
                written.add(place)
                self.documents[place] = _changed(current, write)
                self._record("update", write)
            case _:
                assert_never(write)

    def keys(self, kind: str) -> list[ObjectKey]:
        return sorted(key for of, key in self.documents if of == kind)

    def _record(self, verb: str, write: Create | Delete | Patch) -> None:
        below = f"/{write.subresource}" if isinstance(write, Patch) and write.subresource else ""
        self.writes.append(f"{verb} {write.resource.plural}{below} {write.key}")


def _version(document: Document) -> str:
    version: str = document["metadata"]["resourceVersion"]
    return version


def _changed(current: Document, write: Patch) -> Document:
    parts = {"status"} if write.subresource else {"metadata", "spec"}
    if not write.patch.keys() <= parts:
        raise AssertionError(f"the API would ignore parts of {write}")
    changed = rendered(merge_patch.apply(current, write.patch))
    if changed != current:
        changed["metadata"]["resourceVersion"] = str(int(_version(current)) + 1)
    return changed


def _created(document: Document) -> Document:
    """The recorded program keeps what it made without saying what it is."""
    made = rendered(document)
    made["metadata"]["resourceVersion"] = "1"
    del made["apiVersion"], made["kind"]
    return made


def _event(write: Emit) -> Document:
    kind, key = write.regarding["kind"], key_of(write.regarding)
    return {
        "object": f"{kind}/{key}",
        "type": str(write.type),
        "reason": str(write.reason),
        "message": write.message,
    }


def key_of(document: Document) -> ObjectKey:
    metadata = document["metadata"]
    return ObjectKey(metadata.get("namespace", ""), metadata["name"])


EMPTY_IS_MISSING = {
    "metadata": ("annotations", "labels", "finalizers"),
    "spec": ("capacity", "accessModes", "mountOptions"),
    "status": ("capacity", "accessModes", "message", "reason", "phase"),
}


def rendered(document: Document) -> Document:
    """As the API writes it down: quantities in canonical form, nothing that is empty."""
    whole = merge_patch.apply(document, {})
    whole.setdefault("status", {})
    for part, names in EMPTY_IS_MISSING.items():
        whole[part] = {
            name: value
            for name, value in whole[part].items()
            if value is not None and (value or name not in names)
        }
    spec = whole["spec"]
    if "namespace" in whole["metadata"]:
        spec.setdefault("resources", {})
        for source in ("dataSource", "dataSourceRef"):
            if source in spec:
                spec[source].setdefault("apiGroup", None)
    elif not spec.get("storageClassName"):
        spec.pop("storageClassName", None)
    for quantities in _quantities(whole):
        quantities |= {name: canonical_quantity(size) for name, size in quantities.items()}
    return copy.deepcopy(whole)


def _quantities(document: Document) -> list[dict[str, str]]:
    spec, status = document["spec"], document["status"]
    resources = spec.get("resources") or {}
    places = [
        spec.get("capacity"),
        status.get("capacity"),
        status.get("allocatedResources"),
        resources.get("requests"),
        resources.get("limits"),
    ]
    return [place for place in places if place]


def look_after(world: World, kind: str, key: ObjectKey) -> list[Decision]:
    """Decide and carry out, up to the point where a process would wait for something to change."""
    decisions: list[Decision] = []
    confirmed: Confirmed | None = None
    while True:
        decision = _decide(world, kind, key, confirmed)
        decisions.append(decision)
        world.enact(decision.plan)
        match decision.operation:
            case DecideAgain():
                confirmed = None
            case ReadClaim(claim):
                confirmed = Confirmed(world.read_claim(claim))
            case operation:
                if operation is not None:
                    world.enact(_carry_out(world, operation))
                return decisions


def _decide(world: World, kind: str, key: ObjectKey, confirmed: Confirmed | None) -> Decision:
    if kind == CLAIM:
        claim = world.claim(key)
        return decide_claim(claim, world) if claim else Decision()
    volume = world.volume(key.name)
    return decide_volume(volume, world, confirmed) if volume else Decision()


def _carry_out(world: World, operation: Operation) -> Plan:
    plugin = world.provisioners.only
    assert isinstance(plugin, Plugin)
    match operation:
        case Provision():
            return after_provision(operation, plugin.provision(operation))
        case DeleteBacking(volume=volume):
            newest = _still_released(world, volume)
            return after_delete(newest, plugin.delete(newest)) if newest else Plan(reason="")
        case Recycle(volume=volume):
            newest = _still_released(world, volume)
            return after_recycle(newest, plugin.recycle(), volume) if newest else Plan(reason="")
        case RefuseClaim():
            return Plan(reason="")
        case DecideAgain() | ReadClaim():
            raise AssertionError(operation)
        case _:
            assert_never(operation)


def _still_released(world: World, volume: PersistentVolume) -> PersistentVolume | None:
    newest = world.volume(volume.name)
    claim: PersistentVolumeClaim | None = None
    if newest and newest.spec.claim:
        claim = world.claim(newest.spec.claim)
    return newest if newest and is_released(newest, claim) else None
