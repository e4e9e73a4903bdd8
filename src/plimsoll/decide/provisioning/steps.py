"""The life of one claim at the provisioner: what is remembered of it, and what can come next.

Each step carries the memory that is to be kept for the claim, by its UID, until the next decision
about it. Memory is lost when the process stops; nothing depends on it but that a call which may
still be running is repeated.

    decide_claim ─→ Ignore
                 ├→ Delay, Refuse
                 ├→ Compete ─→ (node_deployment)
                 └→ Prepare ─→ read the secret ─→ decide_call ─→ Refuse
                                                              └→ Call ─→ after_create
    after_create ─→ ProvisioningRecord ─→ store the volume ─→ after_saved
                 ├→ CleanUp ─→ delete the unwanted volume ─→ after_cleanup ─→ Refuse, Ignore,
                 │                                                            StartOver
                 ├→ Call ─→ ask for the volume wherever it is ─→ after_create
                 ├→ Reschedule
                 └→ Refuse
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim, SecretReference
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN, CapacityToken
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.plan import NOTHING, Create, Plan
from plimsoll.decide.provisioning.calls import (
    AccessibilityRequirement,
    CallFailed,
    ContentSource,
    CreatedVolume,
    CreateVolumeCall,
    DeleteVolumeCall,
    VolumeCapability,
)
from plimsoll.decide.provisioning.failures import ProvisioningFailure
from plimsoll.decide.provisioning.topology.requirement import NO_TOPOLOGY, TopologyMemory
from plimsoll.decide.resources import VOLUMES


@dataclass(frozen=True, slots=True)
class SlowRetry:
    """The driver called the request infeasible: with this class it will stay so."""

    until: datetime
    class_uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMemory:
    topology: TopologyMemory = NO_TOPOLOGY
    in_progress: PersistentVolumeClaim | None = None
    """The claim as it was when the driver was asked, if it may still be at work on it.

    Such a claim is decided again and again even when it does not exist any more.
    """
    slow_retry: SlowRetry | None = None
    deleting: str = ""
    """The id of a volume whose deletion was begun and not confirmed: it is deleted, not recorded,
    whatever becomes of its claim."""
    lost_races: int = 0
    """How often another node was faster, in a row."""


NOTHING_KNOWN = ClaimMemory()


class IgnoreReason(StrEnum):
    """Why nothing is to be done about a claim now; a change of the claim may change that."""

    GONE = "ClaimIsGone"
    """The claim does not exist any more, and nothing was begun for it."""
    BOUND = "ClaimIsBound"
    """The claim has a volume."""
    OTHER_PROVISIONER = "OtherProvisioner"
    """Its annotation names another provisioner."""
    OTHER_NODE = "OtherNode"
    """The provisioner of another node serves it."""
    NO_NODE_SELECTED = "NoNodeSelected"
    """It waits for a pod, and the scheduler did not choose yet."""
    PROVISIONED_ALREADY = "ProvisionedAlready"
    """Its volume is stored; binding it is the controller's work."""
    CLASS_OF_OTHER_PROVISIONER = "ClassOfOtherProvisioner"
    """The claim names us, but its class does not."""
    POPULATOR = "LeftToPopulator"
    """Its source is of a kind that a populator has to provide."""
    NOT_ALLOWED_HERE = "NotAllowedHere"
    """The class's allowedTopologies exclude the node that this provisioner serves."""
    NO_ROOM_HERE = "NoRoomHere"
    """The driver of this node has too little capacity for it; others may have enough."""
    OURS_ALREADY = "OursAlready"
    """This node is selected: the change of the claim brings it back."""
    ROLLED_BACK = "RolledBack"
    """The volume was not wanted any more, and is deleted."""
    LEFT_ALONE = "LeftAlone"
    """The volume is not wanted any more, but may have been used: it is kept."""
    HELD = "Held"
    """The volume is there, or refused: the scheduler looks at the other claims of the pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    reason: IgnoreReason
    memory: ClaimMemory = NOTHING_KNOWN
    plan: Plan = NOTHING
    recheck_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Ask again, but not before this time."""

    until: datetime
    memory: ClaimMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """It did not work: enact the plan, which tells so, and decide again after a backoff."""

    failure: ProvisioningFailure
    plan: Plan
    memory: ClaimMemory
    subject: PersistentVolumeClaim | None = None
    """The claim of the attempt; it may be held for another one by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is known about a volume before CreateVolume is called."""

    claim: PersistentVolumeClaim
    storage_class: StorageClass
    volume_name: str
    selected_node: str
    fs_type: str
    capabilities: tuple[VolumeCapability, ...]
    content_source: ContentSource | None
    accessibility: AccessibilityRequirement | None
    secret: SecretReference | None

    @property
    def capacity_bytes(self) -> int:
        return self.claim.spec.requested_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepare:
    """Enact the plan and read `attempt.secret`, then `decide_call`.

    If a write does not go through, `after_obstacle` is next. A finalizer on a snapshot which the
    server forbids to set is not an obstacle: older installations do not grant it.
    """

    attempt: Attempt
    plan: Plan
    memory: ClaimMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Compete:
    """No node is selected yet: after `node_deployment.race_delay`, `decide_candidacy`."""

    claim: PersistentVolumeClaim
    memory: ClaimMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretReferences:
    """For the calls that use the volume later."""

    controller_publish: SecretReference | None = None
    node_stage: SecretReference | None = None
    node_publish: SecretReference | None = None
    controller_expand: SecretReference | None = None
    node_expand: SecretReference | None = None
    controller_modify: SecretReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Ask the driver, then `after_create`."""

    call: CreateVolumeCall
    attempt: Attempt
    secrets: SecretReferences
    memory: ClaimMemory
    taken: CallFailed | None = None
    """Asked without a place, as the driver has answered so: there is a volume of this name, but not
    where it is wanted. None: asked with its place."""
    recorded: Document | None = None
    """The request of an earlier call whose outcome is not known: it is repeated as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningRecord:
    """Enact `creation`, then `plan`, which may fail without harm, and `after_saved`.
    csi-provisioner carries out the plan first.

    The creation is tried again and again until the volume is stored; one that exists counts as
    stored. A volume is not deleted because it could not be stored: the claim would only have it
    created again.
    """

    volume: Document
    claim: PersistentVolumeClaim
    memory: ClaimMemory
    plan: Plan = NOTHING
    hold: str = ""
    """The id of the hold that asks to wait with it; empty: none does."""
    made: CreatedVolume | None = None

    @property
    def name(self) -> str:
        name: str = self.volume["metadata"]["name"]
        return name

    @property
    def volume_id(self) -> str:
        handle: str = self.volume["spec"]["csi"]["volumeHandle"]
        return handle

    def with_token(self, token: CapacityToken | None) -> "ProvisioningRecord":
        """By which readers of capacity know whether a report counts the volume in."""
        if token is None:
            return self
        metadata: Document = self.volume["metadata"]
        annotations = {**(metadata.get("annotations") or {}), CAPACITY_TOKEN: str(token)}
        return replace(
            self, volume=self.volume | {"metadata": metadata | {"annotations": annotations}}
        )

    @property
    def creation(self) -> Plan:
        create = Create(resource=VOLUMES, document=self.volume)
        return Plan(reason=BindingReason.PROVISIONING_SUCCEEDED, writes=(create,))


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """Delete what the driver created, at most `tries` times in a row, then `after_cleanup`.

    `before_cleanup` comes first: what is recorded is not deleted.
    """

    call: DeleteVolumeCall
    claim: PersistentVolumeClaim
    volume_name: str
    memory: ClaimMemory
    failure: ProvisioningFailure | None
    """Why it is of no use; None: only because its claim does not want it any more."""
    wanted_by: PersistentVolumeClaim | None = None
    """The claim as it is now, if it wants a volume elsewhere."""
    is_node_gone: bool = False
    """Whether the node that the claim has selected now does not exist any more."""
    tries: int = field(default=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reschedule:
    """Enact the plan, which takes the selected node off the claim, and wait for the scheduler.

    If it does not go through, decide again after a backoff.
    """

    failure: ProvisioningFailure
    plan: Plan
    memory: ClaimMemory
    subject: PersistentVolumeClaim | None = None
    """As in Refuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOver:
    """Enact the plan, then `decide_claim` at once about the claim as the server has it now.

    A cache may still hold the claim with the node that was selected before.
    """

    plan: Plan
    memory: ClaimMemory


ClaimStep = Ignore | Delay | Refuse | Prepare | Compete | Reschedule
AfterCreate = ProvisioningRecord | CleanUp | Call | Reschedule | Refuse
