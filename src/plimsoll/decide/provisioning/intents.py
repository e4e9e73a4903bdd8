"""Intents: what a provisioner stores before it calls CreateVolume, so that no volume is forgotten.

An intent is a Lease that says which volume the driver is about to be asked for, with the whole
request. It goes when the volume is recorded, or when the driver has said that there is none. The
leader of the provisioner is its only writer. The next leader settles what an earlier one left:

    (none) ─→ Calling ─→ (none)     recorded, or refused: there is nothing to settle
                      ├→ Made ─→ (none)     held back, then recorded (see `holds`)
                      ├→ Refused ─→ (none)  told to the scheduler, which holds it back
                      ├→ Stuck      the driver has something else under this name
                      └→ Undoing ─→ Undone ─→ (none)   once the claim is bound, or gone
                                 └→ Suspect   another program led meanwhile: not deleted, and
                                              the claim gets another volume

After a volume was undone the next one gets another name: a deletion that arrives late, from a
leader that was paused or by a call that outlived its time-out, meets only the volume it was meant
for.

An intent by itself never authorises a deletion: volumes that are recorded are looked for first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim, SecretReference
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.writes import warning
from plimsoll.decide.plan import NOTHING, Plan
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    Code,
    ContentSource,
    CreatedVolume,
    CreateOutcome,
    DeleteVolumeCall,
    FromSnapshot,
    FromVolume,
)
from plimsoll.decide.provisioning.failures import Problem, ProvisioningFailure, ProvisioningState
from plimsoll.decide.provisioning.holds import HoldAction, hold_of, is_to_be_undone
from plimsoll.decide.provisioning.recorded import Asset
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    ClaimMemory,
    CleanUp,
    Ignore,
    IgnoreReason,
    Refuse,
    StartOver,
)
from plimsoll.decide.records import MOST_BYTES, RecordLease, find_record, pack

INTENT = "intent"
"""Value of the label of leases that are intents."""
PROVISIONER = "provisioner"
"""Value of the label of leases that say which provisioners respect holds."""
DRIVER = "plimsoll.dev/driver"
"""The annotation that says of which driver."""
CONTENT = "plimsoll.dev/intent"
"""The annotation that holds one."""
HASH_DIGITS = 8
REQUIREMENTS = "accessibilityRequirements"
"""In a request: from where the volume has to be reachable."""
LONGEST_NAME = 253
"""Of an object. Requests depend on annotations only for names: of nodes, drivers and secrets."""


class IntentState(StrEnum):
    CALLING = "Calling"
    """The driver was asked, or is about to be: there may be a volume."""
    MADE = "Made"
    """The volume is there, and waits for the others of its pod."""
    REFUSED = "Refused"
    """There is no volume, and there will be none on this node. Kept while the claim is held."""
    UNDOING = "Undoing"
    """The volume is not wanted any more: it is deleted, whatever becomes of its claim."""
    UNDONE = "Undone"
    """There is no volume. Kept while the claim may ask for another one, under another name."""
    STUCK = "Stuck"
    """The driver has another volume under this name: an administrator has to look."""
    SUSPECT = "Suspect"
    """Another program may have recorded the volume and forgotten it: it is not deleted."""

    @property
    def is_open(self) -> bool:
        """There may be a volume that only this record knows of."""
        return self not in (IntentState.UNDONE, IntentState.REFUSED)


class MadeAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the driver said of a volume that waits to be recorded."""

    volume_id: str
    capacity_bytes: int = 0
    context: dict[str, str] = msgspec.field(default_factory=dict)
    snapshot_id: str = ""
    source_volume_id: str = ""
    """Where its content is from, if it is a copy."""
    segments: tuple[dict[str, str], ...] = ()

    @classmethod
    def of(cls, made: CreatedVolume) -> "MadeAnswer":
        source = made.content_source
        return cls(
            volume_id=made.volume_id,
            capacity_bytes=made.capacity_bytes,
            context=dict(made.context),
            snapshot_id=source.snapshot_id if isinstance(source, FromSnapshot) else "",
            source_volume_id=source.volume_id if isinstance(source, FromVolume) else "",
            segments=tuple(dict(segment) for segment in made.segments),
        )

    @property
    def created(self) -> CreatedVolume:
        source: ContentSource | None = None
        if self.snapshot_id:
            source = FromSnapshot(self.snapshot_id)
        elif self.source_volume_id:
            source = FromVolume(self.source_volume_id)
        return CreatedVolume(
            volume_id=self.volume_id,
            capacity_bytes=self.capacity_bytes,
            context=self.context,
            content_source=source,
            segments=self.segments,
        )


class Intent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    driver: str
    claim: Document
    """As it was when the driver was asked, without what no request depends on."""
    volume_name: str
    """Of the PersistentVolume."""
    number: int = 0
    """Which attempt for this claim; it goes up after each that may have made a volume."""
    state: IntentState = IntentState.CALLING
    selected_node: str = ""
    request: Document = msgspec.field(default_factory=dict)
    """CreateVolume as CSI writes it in JSON, without secrets."""
    secret: dict[str, str] = msgspec.field(default_factory=dict)
    """Where the secret is, never what is in it."""
    volume_id: str = ""
    """Of the volume that is undone, or waits to be recorded."""
    hold: str = ""
    """The id of the hold that it was made for, or refused."""
    made: MadeAnswer | None = None
    volume: Document = msgspec.field(default_factory=dict)
    """What waits to be recorded, of a provisioner inside the controller."""
    refusal: str = ""
    """What was said by who refused it, without secrets."""
    node: str = ""
    """The node that the provisioner serves, where each serves one."""
    epoch: str = ""
    """Of the leader that stored it; empty: none is elected."""
    given_up: bool = False
    """The claim gets another volume meanwhile, which is recorded under the same name."""

    @property
    def uid(self) -> str:
        uid: str = self.claim["metadata"]["uid"]
        return uid

    @property
    def claim_key(self) -> ObjectKey:
        return ObjectKey.of(self.claim)

    @property
    def recorded_claim(self) -> PersistentVolumeClaim:
        return from_document(PersistentVolumeClaim, self.claim)

    @property
    def secret_reference(self) -> SecretReference | None:
        if not self.secret:
            return None
        return SecretReference(namespace=self.secret["namespace"], name=self.secret["name"])

    @property
    def name(self) -> str:
        """Of its lease; provisioners that serve one node each have one each."""
        name = f"plimsoll-intent-{self.uid}-{self.number}"
        if not self.node:
            return name
        return f"{name}-{sha256(self.node.encode()).hexdigest()[:HASH_DIGITS]}"

    @property
    def is_given_up(self) -> bool:
        """The claim does not wait for it: it is settled beside the next attempt, or what is there
        is kept for an administrator to look at."""
        if self.state is IntentState.SUSPECT:
            return True
        # Earlier versions only left out what there is to undo.
        is_unknown = not self.volume_id and bool(self.request)
        is_left_behind = self.state is IntentState.UNDOING and is_unknown
        return self.state.is_open and (self.given_up or is_left_behind)

    @property
    def asset(self) -> Asset:
        return Asset(
            driver=self.driver,
            volume_name=self.volume_name,
            volume_id=self.volume_id,
            number=self.number,
            node=self.node,
            is_given_up=self.is_given_up,
        )

    def is_wanted_by(self, claim: PersistentVolumeClaim | None) -> bool:
        """Whether the claim, as it is now, still waits for this volume."""
        if claim is None or claim.uid != self.uid:
            return False
        if claim.spec.volume_name not in ("", self.volume_name):
            return False
        return not is_to_be_undone(self.hold, claim)


def is_waiting(claim: PersistentVolumeClaim | None, intent: Intent | None) -> bool:
    """Whether it is the scheduler's turn, and nothing is to be done for the claim before that."""
    hold = None if claim is None else hold_of(claim)
    if hold is None:
        return False
    if hold.action is HoldAction.UNDO:
        return intent is None or not intent.state.is_open
    has_ended = intent is not None and intent.state in (IntentState.MADE, IntentState.REFUSED)
    return has_ended and intent is not None and intent.hold == hold.id


def may_be_given_up(intent: Intent, claim: PersistentVolumeClaim | None) -> bool:
    """Whether what was begun is undone beside what comes next for the claim, which does not want
    it: who made it may not answer, or not delete it, for long, and a pod waits that may go to
    another node. Without a hold the claim waits, as it does for csi-provisioner."""
    return claim is not None and claim.uid == intent.uid and hold_of(claim) is not None


def held_back(intent: Intent, hold: str, made: CreatedVolume) -> Intent:
    """The volume is there, and waits for the others of its pod."""
    return msgspec.structs.replace(
        intent,
        state=IntentState.MADE,
        hold=hold,
        made=MadeAnswer.of(made),
        volume_id=made.volume_id,
    )


def refused(intent: Intent, hold: str, message: str) -> Intent:
    """The scheduler, which has the claim held, is told that there is no volume here."""
    return msgspec.structs.replace(
        intent, state=IntentState.REFUSED, hold=hold, refusal=message, request={}, secret={}
    )


def requested_name(volume_name: str, number: int) -> str:
    """What the driver is told, after so many volumes of the claim were undone."""
    return f"{volume_name}-{number}" if number else volume_name


def recorded_claim(claim: PersistentVolumeClaim) -> Document:
    """What an intent keeps of a claim: all that a request is made from."""
    document: Document = msgspec.json.decode(msgspec.json.encode(claim))
    metadata = document["metadata"]
    annotations = {k: v for k, v in claim.annotations.items() if len(v) <= LONGEST_NAME}
    metadata = {**metadata, "annotations": annotations}
    kept = ("name", "namespace", "uid", "annotations", "labels")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {key: metadata[key] for key in kept if metadata.get(key)},
        "spec": document.get("spec", {}),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredIntent:
    intent: Intent
    lease: Document = field(default_factory=dict)
    """As the server has it; empty: it is not stored yet."""


def lease_document(stored: StoredIntent, namespace: str) -> Document:
    """The lease to be created, or to be updated under the version that it has."""
    intent = stored.intent
    return RecordLease(
        namespace=namespace,
        name=intent.name,
        record=INTENT,
        annotation=CONTENT,
        text=pack(intent),
        holder=intent.driver,
        stored=stored.lease,
    ).document


def announcement_document(driver: str, namespace: str) -> Document:
    """The lease by which a provisioner says that it respects holds. It is not renewed: where the
    provisioner was replaced by another program, which does not, claims are only bound earlier."""
    digest = sha256(driver.encode()).hexdigest()[:HASH_DIGITS]
    return RecordLease(
        namespace=namespace,
        name=f"plimsoll-provisioner-{digest}",
        record=PROVISIONER,
        annotation=DRIVER,
        text=driver,
        holder=driver,
    ).document


def read_intent(lease: Document) -> Intent | None:
    """None: the lease holds none that can be read."""
    return intent_in((lease.get("metadata") or {}).get("annotations") or {})


def intent_in(annotations: Mapping[str, str]) -> Intent | None:
    intent = find_record(annotations, CONTENT, Intent)
    try:
        is_whole = intent is not None and _is_whole(intent)
    except (msgspec.DecodeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    return intent if is_whole else None


def _is_whole(intent: Intent) -> bool:
    """Raises what a claim, or a secret, of another shape raises."""
    names_secret = intent.secret_reference is not None
    return bool(intent.recorded_claim.uid and intent.claim_key.name) and (
        names_secret or not intent.secret
    )


LEAVES_NOTHING = frozenset(
    {
        Code.INVALID_ARGUMENT,
        Code.NOT_FOUND,
        Code.PERMISSION_DENIED,
        Code.RESOURCE_EXHAUSTED,
        Code.FAILED_PRECONDITION,
        Code.OUT_OF_RANGE,
        Code.UNIMPLEMENTED,
        Code.UNAUTHENTICATED,
    }
)
"""Refusals: no volume was made. Other failures may have come after the volume."""


def bounded(intent: Intent) -> Intent:
    """One that fits into an annotation. Where the volume was wanted is left out if need be: then a
    volume of this name is looked for wherever it is."""
    if len(pack(intent)) <= MOST_BYTES:
        return intent
    return msgspec.structs.replace(intent, request=anywhere(intent.request))


def anywhere(request: Document) -> Document:
    """The same, for a volume of this name wherever it is."""
    return {key: value for key, value in request.items() if key != REQUIREMENTS}


def is_elsewhere(intent: Intent, outcome: CreateOutcome) -> bool:
    """Whether another program may have had the volume made for another node, and then ended."""
    is_taken = isinstance(outcome, CallFailed) and outcome.code is Code.ALREADY_EXISTS
    return is_taken and REQUIREMENTS in intent.request


def after_repeated(
    intent: Intent, outcome: CreateOutcome, wanted_by: PersistentVolumeClaim | None = None
) -> CleanUp | Refuse | Ignore | StartOver:
    """The call was made again although the volume is not wanted any more. `wanted_by` is its claim,
    if that still waits for another one."""
    if isinstance(outcome, CreatedVolume):
        return replace(undoing(intent, outcome.volume_id), wanted_by=wanted_by)
    if outcome.code in LEAVES_NOTHING:
        if wanted_by is not None:
            return StartOver(plan=NOTHING, memory=NOTHING_KNOWN)
        return Ignore(reason=IgnoreReason.ROLLED_BACK)
    told = f"volume {intent.volume_name} is not wanted any more, and it is not known whether it was"
    message = f"{told} made: {outcome}"
    if outcome.code is Code.ALREADY_EXISTS:
        message = (
            f"volume {intent.volume_name} is not wanted any more, but the driver has another one "
            f"of this name; delete it by hand, then lease {intent.name}: {outcome}"
        )
    failure = ProvisioningFailure(
        problem=Problem.UNWANTED, message=message, state=ProvisioningState.IN_BACKGROUND
    )
    return _told(failure, intent)


def after_unread_intent(intent: Intent, message: str) -> Refuse:
    """The secret for the call cannot be read; `message` must not say what is in it."""
    failure = ProvisioningFailure(
        problem=Problem.SECRET_NOT_FOUND,
        message=f"volume {intent.volume_name} is not wanted any more, but the secret that its "
        f"deletion needs cannot be read: {message}",
        state=ProvisioningState.IN_BACKGROUND,
    )
    return _told(failure, intent)


def undoing(intent: Intent, volume_id: str) -> CleanUp:
    claim = intent.recorded_claim
    return CleanUp(
        call=DeleteVolumeCall(volume_id=volume_id, secret=intent.secret_reference),
        claim=claim,
        volume_name=intent.volume_name,
        memory=ClaimMemory(in_progress=claim),
        failure=None,
    )


def left_alone(cleanup: CleanUp, why: str) -> Ignore:
    """The volume is not deleted: it may have been used. An administrator has to look."""
    told = (
        f"volume {cleanup.volume_name} ({cleanup.call.volume_id} at its driver) is not wanted any "
        f"more and is kept all the same: {why}; look at it, and delete it by hand"
    )
    event = warning(cleanup.claim, BindingReason.PROVISIONING_FAILED, told)
    plan = Plan(reason=IgnoreReason.LEFT_ALONE, writes=(event,))
    return Ignore(reason=IgnoreReason.LEFT_ALONE, plan=plan)


def _told(failure: ProvisioningFailure, intent: Intent) -> Refuse:
    claim = intent.recorded_claim
    event = warning(claim, BindingReason.PROVISIONING_FAILED, failure.message)
    return Refuse(
        failure=failure,
        plan=Plan(reason=BindingReason.PROVISIONING_FAILED, writes=(event,)),
        memory=ClaimMemory(in_progress=claim),
    )
