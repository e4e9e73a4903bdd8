"""The record of one rollback: a lease that is stored before anything is changed.

    Retaining ─→ Releasing ─→ Deleting ─→ (none)    the claim is there again, the volume gone
        │            │  └───→ Kept                  a pod may have used the volume: it stays
        └────────────┴──────→ (none)                put back: everything is as it was

The leader of the controller is its only writer; the next leader goes on from there.
"""

from enum import StrEnum

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.records import MOST_BYTES, RecordLease, find_record, pack

ROLLBACK_KIND = "rollback"
"""What the label of leases says that are rollbacks."""
CONTENT = "plimsoll.dev/rollback-record"
"""The annotation that holds one."""
NAME_PREFIX = "plimsoll-rollback-"
NAMED = frozenset({"namespace", "name"})


class RollbackState(StrEnum):
    RETAINING = "Retaining"
    """The volume is made to outlive its claim. Everything can be put back."""
    RELEASING = "Releasing"
    """Pod, claim and volume object are deleted in this order, each if nothing speaks against it."""
    DELETING = "Deleting"
    """It is proven that no pod has used the volume, and none can begin to: its data goes."""
    KEPT = "Kept"
    """A pod may have used the volume: it stays, for an administrator to look at."""


class UnusedProof(StrEnum):
    """By what it is known that no pod has written to a volume."""

    DRIVER = "NeverPublished"
    """The driver has never published it, and refuses to delete it if it has meanwhile."""
    WATCHED = "WatchedSinceMade"
    """One watch of pods and attachments has seen everything since the volume was made."""


class RollbackRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    volume_name: str
    volume_uid: str
    volume_version: str
    """The one that the decision was made on."""
    driver: str
    volume_id: str
    """At the driver."""
    claim: Document
    """What is created again, see `manifest`."""
    claim_uid: str
    pod: str
    """Namespace and name of the pod that cannot run."""
    pod_uid: str
    deletes_pod: bool
    """Its owner creates another one."""
    recreates_claim: bool
    """No controller does."""
    proof: UnusedProof
    watch: str = ""
    """Which watch, if one is the proof."""
    node: str = ""
    """Where the pod can run without the volume."""
    why: str = ""
    state: RollbackState = RollbackState.RETAINING
    was_used: bool = False
    """If it is kept: a pod is known to have used it, so that an empty volume would not do."""
    secret: dict[str, str] = msgspec.field(default_factory=dict)
    """Where the secret for the deletion is, never what is in it."""
    begun_at: str = ""
    times: int = 1
    """How often a volume was taken back for this claim, with this time."""

    @property
    def name(self) -> str:
        """Of its lease."""
        return f"{NAME_PREFIX}{self.volume_uid}"

    @property
    def claim_key(self) -> ObjectKey:
        return ObjectKey.of(self.claim)

    @property
    def pod_key(self) -> ObjectKey:
        return ObjectKey.parse(self.pod)

    @property
    def secret_reference(self) -> SecretReference | None:
        if not self.secret:
            return None
        return SecretReference(namespace=self.secret["namespace"], name=self.secret["name"])


def fits(record: RollbackRecord) -> bool:
    """Whether it can be stored; a claim with very large annotations is not touched."""
    return len(pack(record)) <= MOST_BYTES


def rollback_lease(record: RollbackRecord, namespace: str, before: Document) -> Document:
    """The lease to be created, or, where it was `before`, updated under the version it had."""
    return RecordLease(
        namespace=namespace,
        name=record.name,
        record=ROLLBACK_KIND,
        annotation=CONTENT,
        text=pack(record),
        holder=record.driver,
        stored=before,
    ).document


def read_rollback(lease: Document) -> RollbackRecord | None:
    """None: the lease holds none that can be read, or not its own."""
    annotations = (lease.get("metadata") or {}).get("annotations") or {}
    record = find_record(annotations, CONTENT, RollbackRecord)
    if record is None or record.name != lease["metadata"]["name"]:
        return None
    return record if _names_claim(record.claim) and set(record.secret) in (set(), NAMED) else None


def _names_claim(claim: Document) -> bool:
    metadata, spec = claim.get("metadata"), claim.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return False
    return all(isinstance(metadata.get(part), str) for part in NAMED)
