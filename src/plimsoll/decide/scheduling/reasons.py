"""What a rule answers: fit or not, and every reason with its numbers and the object it was seen in.

A Reason is ours and stable: users see it in events, `explain` and plans. The sentence beside it is
what kube-scheduler would say; several of our reasons share one of its sentences.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey


class Reason(StrEnum):
    NO_CAPACITY_PUBLISHED = "NoCapacityPublished"
    CAPACITY_ZERO = "CapacityZero"
    CAPACITY_TOO_SMALL = "CapacityTooSmall"
    CAPACITY_STALE = "CapacityStale"
    CAPACITY_RESERVED = "CapacityReserved"
    CLAIMS_DO_NOT_FIT_TOGETHER = "ClaimsDoNotFitTogether"
    DRIVER_NOT_ON_NODE = "DriverNotOnNode"
    TOPOLOGY_KEY_MISSING = "TopologyKeyMissing"
    OUTSIDE_ALLOWED_TOPOLOGIES = "OutsideAllowedTopologies"
    CLASS_NOT_FOUND = "ClassNotFound"
    CLASS_WITHOUT_BINDING_MODE = "ClassWithoutBindingMode"
    NO_MATCHING_VOLUME = "NoMatchingVolume"
    VOLUME_AFFINITY_CONFLICT = "VolumeAffinityConflict"
    VOLUME_ZONE_CONFLICT = "VolumeZoneConflict"
    VOLUME_NOT_FOUND = "VolumeNotFound"
    VOLUME_NOT_TRANSLATABLE = "VolumeNotTranslatable"
    """A volume of a plugin that was handed over to a CSI driver, which makes no sense to it."""
    ATTACH_LIMIT_REACHED = "AttachLimitReached"
    DISK_IN_USE = "DiskInUse"
    """A disk that the pod names itself is mounted by another pod of the node."""
    CLAIM_NOT_FOUND = "ClaimNotFound"
    CLAIM_LOST = "ClaimLost"
    CLAIM_DELETING = "ClaimDeleting"
    CLAIM_NOT_OWNED = "ClaimNotOwned"
    CLAIM_IS_INVALID = "ClaimIsInvalid"
    """It asks for something that cannot be read or is not offered here."""
    UNBOUND_IMMEDIATE_CLAIM = "UnboundImmediateClaim"
    SELECTED_ELSEWHERE = "SelectedElsewhere"
    READ_WRITE_ONCE_POD_CONFLICT = "ReadWriteOncePodConflict"
    DATA_SOURCE_NOT_FOUND = "DataSourceNotFound"
    DATA_SOURCE_NOT_READY = "DataSourceNotReady"
    PROVISIONER_STOPPED = "ProvisionerStopped"
    PROVISIONER_REFUSED = "ProvisionerRefused"
    PROVISIONING_FAILED = "ProvisioningFailed"
    PROVISIONING_OVERDUE = "ProvisioningOverdue"
    MOUNT_FAILED = "MountFailed"
    NODE_GONE = "NodeGone"
    NODE_NOT_READY = "NodeNotReady"
    SCHEDULER_STOPPED = "SchedulerStopped"
    SCHEDULING_FAILED = "SchedulingFailed"
    PODS_MISSING = "PodsMissing"
    CHANGED_MEANWHILE = "ChangedMeanwhile"
    """An object is no longer what the node was judged by."""
    NODE_NOT_FOUND = "NodeNotFound"
    POD_NOT_FOUND = "PodNotFound"
    BINDING_TIMED_OUT = "BindingTimedOut"
    INSUFFICIENT_RESOURCE = "InsufficientResource"
    TOO_MANY_PODS = "TooManyPods"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_AFFINITY_MISMATCH = "NodeAffinityMismatch"
    POD_AFFINITY_CONFLICT = "PodAffinityConflict"
    POD_ANTI_AFFINITY_CONFLICT = "PodAntiAffinityConflict"
    SPREAD_CONFLICT = "SpreadConflict"
    PORT_CONFLICT = "PortConflict"
    RESOURCE_CLAIM_NOT_SUPPORTED = "ResourceClaimNotSupported"
    """The pod names claims for devices, which the scheduler cannot allocate."""
    FEATURE_MISSING = "FeatureMissing"
    """The pod needs something that the node's kubelet does not declare."""


class Rule(StrEnum):
    """Who judges, under the name of the plugin that does it in kube-scheduler."""

    VOLUME_RESTRICTIONS = "VolumeRestrictions"
    VOLUME_LIMITS = "NodeVolumeLimits"
    VOLUME_BINDING = "VolumeBinding"
    VOLUME_ZONE = "VolumeZone"


class Sentence(StrEnum):
    """What kube-scheduler says of nodes. Events count the nodes by these."""

    VOLUME_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
    NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
    NO_SPACE = "node(s) did not have enough free storage"
    VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
    VOLUME_COUNT = "node(s) exceed max volume count"
    ZONE = "node(s) had no available volume zone"
    DISK = "node(s) had no available disk"
    SINGLE_POD = (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    )


class Verdict(StrEnum):
    SUCCESS = "Success"
    SKIP = "Skip"
    """The rule has nothing to say about this pod, on any node."""
    UNSCHEDULABLE = "Unschedulable"
    """Fewer pods on the node could help."""
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    """Even an empty node would not do."""
    ERROR = "Error"
    """No decision is possible; the pod is tried again."""


class SeenObject(NamedTuple):
    """An object that a reason was found in."""

    kind: str
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that speaks against a node, or against the pod on any node."""

    reason: Reason
    sentence: str
    claim: ObjectKey | None = None
    about: SeenObject | None = None
    wanted: int | None = None
    """In bytes, or as a number of volumes or pods."""
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    findings: tuple[Finding, ...] = ()

    @property
    def is_fit(self) -> bool:
        return self.verdict in (Verdict.SUCCESS, Verdict.SKIP)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each once, in the order in which the rule gave them."""
        return tuple(dict.fromkeys(str(finding.sentence) for finding in self.findings))


FIT = Judgement(Verdict.SUCCESS)
NOT_CONCERNED = Judgement(Verdict.SKIP)


def unschedulable(*findings: Finding) -> Judgement:
    return Judgement(Verdict.UNSCHEDULABLE, findings)


def unresolvable(*findings: Finding) -> Judgement:
    return Judgement(Verdict.UNRESOLVABLE, findings)


def unresolvable_node(reason: Reason, sentence: str, node: str) -> Judgement:
    """The node itself is what speaks against it."""
    about = SeenObject("Node", ObjectKey("", node))
    return unresolvable(Finding(reason=reason, sentence=sentence, about=about))


def failed(*findings: Finding) -> Judgement:
    return Judgement(Verdict.ERROR, findings)


def seen_volume(name: str) -> SeenObject:
    return SeenObject("PersistentVolume", ObjectKey("", name))


def seen_class(name: str) -> SeenObject:
    return SeenObject("StorageClass", ObjectKey("", name))


def not_owned_finding(pod: ObjectKey, claim: ObjectKey) -> Finding:
    """The claim of an ephemeral volume that was made for another pod."""
    sentence = f"PVC {claim} was not created for pod {pod} (pod is not owner)"
    return Finding(reason=Reason.CLAIM_NOT_OWNED, sentence=sentence, claim=claim)


class Undecided(Exception):  # noqa: N818  no error: a rule leaves early with its judgement
    """Thrown inside a rule when something it needs is missing or makes no sense."""

    def __init__(self, judgement: Judgement) -> None:
        super().__init__(*judgement.sentences)
        self.judgement = judgement
