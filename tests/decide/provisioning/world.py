"""A cluster of documents in which provisioning decisions are carried out, one at a time.

It is what the decisions look at, and it does what a provisioner's process would do with them, but
without waiting: `provision` and `delete` play one look at a claim or volume to its end. The driver
answers what it was told to answer.
"""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar, assert_never

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.patch import merge_patch
from plimsoll.api.registry import Document
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.storage import CSINode, StorageClass, VolumeAttachment, VolumeAttributesClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim, SecretReference
from plimsoll.decide.plan import Create, Delete, Emit, Patch, Plan, Write
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    CapacityOutcome,
    Code,
    CreateOutcome,
    CreateVolumeCall,
    Deleted,
    DeleteOutcome,
    DeleteVolumeCall,
    GetCapacityCall,
)
from plimsoll.decide.provisioning.claims import after_unread_secret, decide_call, decide_claim
from plimsoll.decide.provisioning.deletion import (
    Keep,
    Removed,
    RemoveVolume,
    Retry,
    after_delete,
    decide_volume,
    release_volume,
)
from plimsoll.decide.provisioning.node_deployment import (
    OwnershipAttempt,
    OwnershipQuestion,
    TakeOver,
    after_capacity,
    after_unanswered,
    ask_capacity,
    decide_candidacy,
)
from plimsoll.decide.provisioning.outcomes import (
    after_cleanup,
    after_create,
    after_saved,
    before_cleanup,
)
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    Call,
    ClaimMemory,
    CleanUp,
    Compete,
    Delay,
    Ignore,
    IgnoreReason,
    Prepare,
    ProvisioningRecord,
    Refuse,
    Reschedule,
    StartOver,
)
from plimsoll.decide.provisioning.view import ProvisioningContext

UNIMPLEMENTED = CallFailed(Code.UNIMPLEMENTED)
NOW = datetime(2026, 1, 1, tzinfo=UTC)

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
SNAPSHOTS = "volumesnapshots"
CONTENTS = "volumesnapshotcontents"
CLASSES = "storageclasses"
ATTRIBUTES_CLASSES = "volumeattributesclasses"
NODES = "nodes"
CSI_NODES = "csinodes"
SECRETS = "secrets"
ATTACHMENTS = "volumeattachments"

T = TypeVar("T", bound=ApiObject)
End = Ignore | Delay | Refuse | Reschedule | ProvisioningRecord
"""How one look at a claim can end."""


@dataclass(slots=True)
class Driver:
    """Answers as it was told, and remembers what it was asked."""

    create: CreateOutcome = UNIMPLEMENTED
    delete: list[DeleteOutcome] = field(default_factory=lambda: [Deleted()])
    """One per call; the last one is repeated."""
    capacity: CapacityOutcome = UNIMPLEMENTED
    created: list[tuple[CreateVolumeCall, dict[str, str]]] = field(default_factory=list)
    deleted: list[tuple[DeleteVolumeCall, dict[str, str]]] = field(default_factory=list)
    asked: list[GetCapacityCall] = field(default_factory=list)

    def answer_create(self, call: CreateVolumeCall) -> CreateOutcome:
        del call
        return self.create

    def answer_delete(self) -> DeleteOutcome:
        return self.delete.pop(0) if len(self.delete) > 1 else self.delete[0]


def key_of(document: Document) -> ObjectKey:
    metadata = document["metadata"]
    return ObjectKey(metadata.get("namespace", ""), metadata["name"])


@dataclass(slots=True)
class World:
    settings: ProvisionerSettings
    documents: dict[tuple[str, ObjectKey], Document] = field(default_factory=dict)
    driver: Driver = field(default_factory=Driver)
    memory: ClaimMemory = NOTHING_KNOWN
    now: datetime = NOW
    events: list[Document] = field(default_factory=list)
    writes: list[tuple[str, Create | Patch | Delete]] = field(default_factory=list)
    refuses_volumes: bool = False
    """Whether volumes cannot be stored."""

    @property
    def context(self) -> ProvisioningContext:
        return ProvisioningContext(view=self, settings=self.settings, now=self.now)

    def add(self, plural: str, *documents: Document) -> None:
        self.documents |= {(plural, key_of(document)): document for document in documents}

    # What the decisions look at

    def _find(self, type_: type[T], plural: str, key: ObjectKey) -> T | None:
        document = self.documents.get((plural, key))
        return None if document is None else from_document(type_, document)

    def _all(self, type_: type[T], plural: str) -> Iterator[T]:
        for (kind, _), document in self.documents.items():
            if kind == plural:
                yield from_document(type_, document)

    def node(self, name: str) -> Node | None:
        return self._find(Node, NODES, ObjectKey("", name))

    def nodes(self) -> Iterable[Node]:
        return self._all(Node, NODES)

    def csi_node(self, name: str) -> CSINode | None:
        return self._find(CSINode, CSI_NODES, ObjectKey("", name))

    def csi_nodes(self) -> Iterable[CSINode]:
        return self._all(CSINode, CSI_NODES)

    def storage_class(self, name: str) -> StorageClass | None:
        return self._find(StorageClass, CLASSES, ObjectKey("", name))

    def attributes_class(self, name: str) -> VolumeAttributesClass | None:
        return self._find(VolumeAttributesClass, ATTRIBUTES_CLASSES, ObjectKey("", name))

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return self._find(PersistentVolumeClaim, CLAIMS, key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self._find(PersistentVolume, VOLUMES, ObjectKey("", name))

    def snapshot(self, key: ObjectKey) -> VolumeSnapshot | None:
        return self._find(VolumeSnapshot, SNAPSHOTS, key)

    def snapshot_content(self, name: str) -> VolumeSnapshotContent | None:
        return self._find(VolumeSnapshotContent, CONTENTS, ObjectKey("", name))

    def attachments_of(self, volume: str) -> Iterable[VolumeAttachment]:
        return [
            attachment
            for attachment in self._all(VolumeAttachment, ATTACHMENTS)
            if attachment.spec.source.persistent_volume_name == volume
        ]

    # What a process does

    def enact(self, plan: Plan) -> bool:
        """Whether all writes went through; those after one that did not are not made."""
        return all(self._make(write) for write in plan.writes)

    def _make(self, write: Write) -> bool:
        match write:
            case Emit():
                self.events.append(_event(write))
                return True
            case Create():
                return self._create(write)
            case Patch():
                return self._patch(write)
            case Delete():
                return self._delete(write)
            case _:
                assert_never(write)

    def _create(self, write: Create) -> bool:
        place = (write.resource.plural, write.key)
        if self.refuses_volumes:
            return False
        self.documents.setdefault(place, write.document)
        self.writes.append(("create", write))
        return True

    def _patch(self, write: Patch) -> bool:
        place = (write.resource.plural, write.key)
        if place not in self.documents:
            return False
        self.documents[place] = merge_patch.apply(self.documents[place], write.patch)
        self._drop_if_finalized(place)
        self.writes.append(("patch", write))
        return True

    def _delete(self, write: Delete) -> bool:
        place = (write.resource.plural, write.key)
        metadata = self.documents[place]["metadata"]
        metadata.setdefault("deletionTimestamp", "2026-01-01T00:00:00Z")
        self._drop_if_finalized(place)
        self.writes.append(("delete", write))
        return True

    def _drop_if_finalized(self, place: tuple[str, ObjectKey]) -> None:
        metadata = self.documents[place]["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            del self.documents[place]

    def secret(self, reference: SecretReference | None) -> dict[str, str] | None:
        """None if it cannot be read."""
        if reference is None:
            return {}
        key = ObjectKey(reference.namespace, reference.name)
        document = self.documents.get((SECRETS, key))
        if document is None:
            return None
        data: dict[str, Any] = document.get("data") or {}
        return {name: base64.b64decode(value).decode() for name, value in data.items()}

    # One look at a claim

    def provision(self, key: ObjectKey) -> End:
        end = self._look_at(key)
        self.memory = end.memory
        return end

    def _look_at(self, key: ObjectKey) -> End:
        step = decide_claim(self.claim(key), self.memory, self.context)
        match step:
            case Ignore() | Refuse() | Reschedule():
                return self._ended(step)
            case Delay():
                return step
            case Prepare():
                return self._carry_out(step, key)
            case Compete():
                return self._compete(step, key)
            case _:
                assert_never(step)

    def _ended(self, step: Ignore | Refuse | Reschedule) -> Ignore | Refuse | Reschedule:
        went_through = self.enact(step.plan)
        if isinstance(step, Reschedule) and not went_through:
            return Refuse(failure=step.failure, plan=step.plan, memory=step.memory)
        return step

    def _carry_out(self, step: Prepare, key: ObjectKey) -> End:
        self.enact(step.plan)
        secret = self.secret(step.attempt.secret)
        if secret is None:
            return self._ended(after_unread_secret(step, "not found"))
        call = decide_call(step, self.context)
        if not isinstance(call, Call):
            return self._ended(call)
        return self._call(call, secret, key)

    def _call(self, call: Call, secret: dict[str, str], key: ObjectKey) -> End:
        self.driver.created.append((call.call, secret))
        answer = self.driver.answer_create(call.call)
        outcome = after_create(call, answer, self.claim(key), self.context)
        match outcome:
            case Refuse() | Reschedule():
                return self._ended(outcome)
            case Call():
                return self._call(outcome, secret, key)
            case CleanUp():
                return self._cleaned_up(outcome, secret, key)
            case ProvisioningRecord():
                return self._record(outcome, key)
            case _:
                assert_never(outcome)

    def _cleaned_up(self, step: CleanUp, secret: dict[str, str], key: ObjectKey) -> End:
        checked = before_cleanup(step, self._all(PersistentVolume, VOLUMES), self.settings)
        if isinstance(checked, Ignore):
            return self._ended(checked)
        outcome = after_cleanup(step, self._clean_up(step, secret))
        if not isinstance(outcome, StartOver):
            return self._ended(outcome)
        self.enact(outcome.plan)
        self.memory = outcome.memory
        return self._look_at(key)

    def _clean_up(self, step: CleanUp, secret: dict[str, str]) -> DeleteOutcome:
        outcome: DeleteOutcome = Deleted()
        for _ in range(step.tries):
            self.driver.deleted.append((step.call, secret))
            outcome = self.driver.answer_delete()
            if isinstance(outcome, Deleted):
                break
        return outcome

    def _record(self, step: ProvisioningRecord, key: ObjectKey) -> ProvisioningRecord:
        self.enact(step.plan)
        if self.enact(step.creation):
            self.enact(after_saved(step, self.claim(key)))
        return step

    def _compete(self, step: Compete, key: ObjectKey) -> End:
        candidacy = decide_candidacy(step, self.claim(key), self.context)
        if isinstance(candidacy, OwnershipQuestion):
            candidacy = self._ask(candidacy)
        if isinstance(candidacy, TakeOver):
            self.enact(candidacy.plan)
            return Ignore(reason=IgnoreReason.OURS_ALREADY, memory=candidacy.memory)
        return candidacy

    def _ask(self, question: OwnershipQuestion) -> TakeOver | Ignore:
        if self.secret(question.attempt.secret) is None:
            return after_unanswered(question, self.context)
        step: OwnershipAttempt | TakeOver | Ignore = ask_capacity(question, self.context)
        while isinstance(step, OwnershipAttempt):
            self.driver.asked.append(step.calls[0])
            step = after_capacity(step, self.driver.capacity, self.context)
        return step

    # One look at a volume

    def delete(self, name: str) -> Keep | Removed | Retry:
        volume = self.volume(name)
        if volume is None:
            raise AssertionError(f"there is no volume {name}")
        step = decide_volume(volume, self.context)
        if not isinstance(step, RemoveVolume):
            self.enact(step.plan)
            return step
        self.driver.deleted.append((step.call, self.secret(step.call.secret) or {}))
        end = after_delete(volume, self.driver.answer_delete())
        self.enact(end.plan)
        if isinstance(end, Removed):
            self.enact(release_volume(self.volume(name)))
        return end


def _event(write: Emit) -> Document:
    return {
        "object": f"{write.regarding['kind']}/{key_of(write.regarding)}",
        "type": str(write.type),
        "reason": str(write.reason),
        "message": write.message,
    }
