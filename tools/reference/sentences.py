"""Sentences for docs/reference/reasons.md that are not in the code itself."""

from dataclasses import dataclass

Name = tuple[str, str]
"""Module below the package, and class."""


@dataclass(frozen=True, slots=True)
class Event:
    reason: str
    type: str
    about: str
    meaning: str


EVENTS = (
    Event("InvalidSchedule", "Warning", "CronJob", "The schedule names no time that ever comes."),
    Event(
        "JobAlreadyActive",
        "Normal",
        "CronJob",
        "A job is due, but the one before still runs, and the CronJob forbids both at a time.",
    ),
    Event(
        "MissSchedule", "Warning", "CronJob", "A job is so late that it is not started any more."
    ),
    Event("MissingJob", "Normal", "CronJob", "A job that ran was deleted by another client."),
    Event("SawCompletedJob", "Normal", "CronJob", "A job has completed or failed."),
    Event(
        "TooManyMissedTimes",
        "Warning",
        "CronJob",
        "More than 100 times were missed. The latest is started all the same.",
    ),
    Event("UnexpectedJob", "Warning", "CronJob", "A user has started a job of the CronJob."),
    Event("UnknownTimeZone", "Warning", "CronJob", "This machine does not know the time zone."),
    Event("UnparseableSchedule", "Warning", "CronJob", "The schedule cannot be read."),
    Event(
        "CalculateExpectedPodCountFailed",
        "Warning",
        "budget",
        "It cannot be told how many pods there should be; none may be evicted.",
    ),
    Event("NoPods", "Normal", "budget", "The budget selects no pod."),
    Event(
        "NotDeleted", "Warning", "pod", "It was to be evicted two minutes ago and is still there."
    ),
    Event(
        "UnmanagedPods",
        "Warning",
        "budget",
        "It selects pods without a controller, which no percentage can count.",
    ),
    Event(
        "NodeNotReady",
        "Normal or Warning",
        "node, pod",
        "The node has fallen silent; the pod is on such a node.",
    ),
    Event("RegisteredNode", "Normal", "node", "The controller sees the node for the first time."),
    Event("RemovingNode", "Normal", "node", "The Node object is gone."),
    Event(
        "TaintManagerEviction",
        "Normal",
        "pod",
        "A NoExecute taint of its node ends the pod, or does not any more.",
    ),
    Event("BackoffLimitExceeded", "Warning", "Job", "More pods failed than the job allows."),
    Event("ClaimLost", "Warning", "claim", "A bound claim has lost its volume, and its data."),
    Event("ClaimMisbound", "Warning", "claim", "The volume that the claim names serves another."),
    Event("Completed", "Normal", "Job", "All pods that the job needs have succeeded."),
    Event(
        "ConflictingController",
        "Warning",
        "StatefulSet",
        "A claim belongs to another owner, so the retention policy is not applied to it.",
    ),
    Event(
        "CreatingSnapshot",
        "Normal",
        "snapshot",
        "Its content was created: the driver is asked for the snapshot.",
    ),
    Event("DeadlineExceeded", "Warning", "Job", "The job was active for longer than it allows."),
    Event("DomainBack", "Normal", "config map", "A lost domain is back: its takeover is ended."),
    Event("DomainFenced", "Normal", "config map", "Nothing in the domain can write any more."),
    Event("DomainGivenBack", "Normal", "node", "It serves a domain no more that it took over."),
    Event("DomainLost", "Warning", "config map", "A domain is lost, and is taken over."),
    Event(
        "DomainLostNotTakenOver",
        "Warning",
        "config map",
        "A domain is lost, and an administrator has to decide; the message says why.",
    ),
    Event("DomainReleased", "Normal", "config map", "The nodes in the domain may write again."),
    Event("DomainServed", "Normal", "node", "It serves a domain that it has taken over."),
    Event(
        "ExternalProvisioning",
        "Normal",
        "claim",
        "The controller asks a provisioner in another process, by annotation, for the volume.",
    ),
    Event(
        "FailedAttachVolume",
        "Warning",
        "pod",
        "The volume could not be attached to the pod's node, or is attached to another one.",
    ),
    Event(
        "FailedBinding",
        "Normal or Warning",
        "claim, pod",
        "No volume suits the claim and it has no class; or the volume that it names is taken; or, "
        "about a pod, the claim of an ephemeral volume could not be created.",
    ),
    Event("FailedCreate", "Warning", "workload", "A pod or claim of it was not created."),
    Event("FailedDaemonPod", "Warning", "DaemonSet", "A pod failed and is replaced."),
    Event("FailedDelete", "Warning", "workload", "A pod of the workload could not be deleted."),
    Event(
        "FailedMount",
        "Warning",
        "pod",
        "A volume is not in the pod yet: not bound, not attached, out of the node's reach, or its "
        "driver refused or is not registered; tried again.",
    ),
    Event(
        "FailedScheduling",
        "Warning",
        "pod",
        "No node would do: counts in kube-scheduler's words, then our codes in brackets.",
    ),
    Event("FailedUnMount", "Warning", "pod", "A volume could not be taken out of the pod yet."),
    Event("FailedUpdate", "Warning", "StatefulSet", "A pod or claim could not be changed."),
    Event(
        "FileSystemResizeFailed",
        "Warning",
        "pod",
        "What is on the volume could not grow to its new size; tried again, the pod goes on.",
    ),
    Event(
        "FileSystemResizeRequired",
        "Normal",
        "claim",
        "The volume has grown; the node grows what is on it.",
    ),
    Event("FileSystemResizeSuccessful", "Normal", "pod", "The volume has its new size."),
    Event(
        "GetSnapshotClassFailed", "Warning", "snapshot", "The class that it names does not exist."
    ),
    Event(
        "GivebackWaits",
        "Normal",
        "config map",
        "Pods, nodes or attachments outside of a domain still depend on it.",
    ),
    Event("IntentOrphaned", "Warning", "claim", "The node that made its volume is gone."),
    Event("NodeAffinity", "Warning", "pod", "Rejected by its node, which it is not meant for."),
    Event("NodeFenced", "Normal", "node", "Its domain is fenced: no volume can be used on it."),
    Event("OutOf…", "Warning", "pod", "Rejected by its node, which has too little: OutOfcpu."),
    Event(
        "OwnerRefInvalidNamespace",
        "Warning",
        "any object",
        "It names an owner that cannot be one, because it is in another namespace.",
    ),
    Event(
        "PlacementUnreadable",
        "Warning",
        "class, pod",
        "An annotation about the placement of volumes cannot be read, and is ignored.",
    ),
    Event(
        "ProvisioningCleanupFailed", "Warning", "claim", "The unwanted volume could not be deleted."
    ),
    Event(
        "ProvisioningFailed", "Warning", "claim", "No volume was provisioned; the message says why."
    ),
    Event("ProvisioningSucceeded", "Normal", "claim", "A volume was provisioned and stored."),
    Event("RepairRehearsed", "Warning", "what a rule found", "A repair rule would act; a dry run."),
    Event("RepairedDirectNode", "Warning", "claim", "Its pod's node was selected for it."),
    Event("RepairedLostNodeVolume", "Warning", "volume", "It was given up with its node's disks."),
    Event(
        "RepairedOrphanedCapacity",
        "Warning",
        "capacity",
        "It was deleted: no publisher kept it up.",
    ),
    Event("RepairedSelectedNode", "Warning", "claim", "Its selected node is gone, and taken off."),
    Event("Resizing", "Normal", "claim", "The driver is asked to grow the volume."),
    Event("Resumed", "Normal", "Job", "The job is no longer suspended."),
    Event(
        "RollbackBegun", "Warning", "claim", "Its unused volume keeps a pod from running, and goes."
    ),
    Event(
        "RollbackKeptVolume",
        "Warning",
        "claim, volume",
        "It is not certain that the volume was never used: its data stays.",
    ),
    Event("RollbackPutBack", "Warning", "claim", "Its volume is not taken back after all."),
    Event(
        "RollbackRehearsed", "Warning", "pod, claim", "Its volumes would be taken back; a dry run."
    ),
    Event(
        "RollbackWaits",
        "Warning",
        "claim",
        "A pod with a node, or a finalizer, holds the claim whose volume goes.",
    ),
    Event("RolledBack", "Normal", "claim", "Its unused volume was taken back; it gets another."),
    Event("ScalingReplicaSet", "Normal", "Deployment", "One of its ReplicaSets got another size."),
    Event("Scheduled", "Normal", "pod", "The scheduler gave the pod its node."),
    Event("SelectingAll", "Warning", "workload", "Its selector is empty, so nothing is done."),
    Event(
        "SetDefaultSnapshotClassFailed",
        "Warning",
        "snapshot",
        "It names no class, and there is not exactly one default.",
    ),
    Event(
        "SnapshotContentCheckandUpdateFailed",
        "Warning",
        "content",
        "The driver does not have, or does not show, a snapshot.",
    ),
    Event(
        "SnapshotContentCreationFailed",
        "Warning",
        "snapshot",
        "No content could be created; the message says why.",
    ),
    Event(
        "SnapshotContentMisbound",
        "Warning",
        "snapshot",
        "The content that it names serves another snapshot.",
    ),
    Event(
        "SnapshotContentMismatch",
        "Warning",
        "snapshot",
        "Its content is of the other kind: made for it, or by hand.",
    ),
    Event("SnapshotContentMissing", "Warning", "snapshot", "Its content does not exist."),
    Event("SnapshotCreated", "Normal", "snapshot", "The driver has taken the snapshot."),
    Event(
        "SnapshotCreationFailed",
        "Warning",
        "content",
        "The driver could not take the snapshot; tried again.",
    ),
    Event(
        "SnapshotDeleteError",
        "Warning",
        "content",
        "The driver could not delete the snapshot; tried again.",
    ),
    Event(
        "SnapshotDeletePending",
        "Warning",
        "snapshot",
        "A volume is being made of it: it stays until then.",
    ),
    Event(
        "SnapshotMisbound", "Warning", "snapshot", "Its content does not point back at it any more."
    ),
    Event("SnapshotReady", "Normal", "snapshot", "Volumes can be made of the snapshot."),
    Event("SucceededDaemonPod", "Normal", "DaemonSet", "A pod ended although it should not."),
    Event("SuccessfulAttachVolume", "Normal", "pod", "The volume is attached to the pod's node."),
    Event("SuccessfulCreate", "Normal", "workload", "A pod or claim was created."),
    Event("SuccessfulDelete", "Normal", "workload", "A pod was deleted."),
    Event("SuccessfulUpdate", "Normal", "StatefulSet", "A pod or claim was changed."),
    Event("Suspended", "Normal", "Job", "The job is suspended: its pods are ended."),
    Event(
        "TakeoverMapNotUnderstood",
        "Warning",
        "config map",
        "Nothing is taken over anew or given back until it is corrected.",
    ),
    Event("TakeoverRefused", "Warning", "config map", "Pools would not survive the lost domain."),
    Event(
        "TakeoverWaits", "Warning", "config map", "The domain is not fenced; the message says why."
    ),
    Event(
        "UnsupportedField",
        "Warning",
        "DaemonSet, Job",
        "It asks for something that this controller cannot do, so nothing is done.",
    ),
    Event("VolumeDelete", "Normal", "volume", "It is still in use; its deletion is tried later."),
    Event("VolumeFailedDelete", "Warning", "volume", "What is behind it could not be deleted."),
    Event(
        "VolumeFailedRecycle",
        "Normal or Warning",
        "volume",
        "It is still used by pods, or it could not be emptied.",
    ),
    Event(
        "VolumeMismatch",
        "Warning",
        "claim, volume",
        "The volume that the claim names, or that is kept for it, does not suit it.",
    ),
    Event(
        "VolumeModify",
        "Normal",
        "claim",
        "The driver is asked for the attributes of another class.",
    ),
    Event(
        "VolumeModifyFailed",
        "Warning",
        "claim",
        "The driver refused the attributes, or their class is missing.",
    ),
    Event(
        "VolumeModifySuccessful",
        "Normal",
        "claim",
        "The volume has the attributes of its claim's class.",
    ),
    Event("VolumeRecycled", "Normal", "volume", "It was emptied and is available again."),
    Event(
        "VolumeResizeFailed", "Warning", "claim", "The volume could not grow; the message says why."
    ),
    Event("VolumeResizeSuccessful", "Normal", "claim", "The claim has its new size."),
    Event(
        "VolumeUnknownReclaimPolicy",
        "Warning",
        "volume",
        "Its reclaim policy is none that Plimsoll knows.",
    ),
    Event(
        "WaitForFirstConsumer", "Normal", "claim", "Binding waits for a pod that uses the claim."
    ),
    Event("WaitForPodScheduled", "Normal", "claim", "Binding waits for the scheduler's choice."),
    Event("ZonalAffinityAdded", "Normal", "volume", "Its zone labels became node affinity."),
    Event("ZonalUpgradeRefused", "Warning", "volume", "The server refused the node affinity."),
)

TITLES: dict[Name, str] = {
    (
        "decide.ceph.takeover.telling",
        "TakeoverReason",
    ): "About lost storage domains. Each but `HomeDomainServed` is an event, too.",
    ("decide.csi.attach_detach", "AttachDetachReason"): "About the attachments of one device.",
    (
        "decide.claims.reasons",
        "BindingReason",
    ): "About the binding, provisioning and reclaiming of claims "
    "and volumes. Those that are events as well are in the table above, too.",
    (
        "decide.capacity.findings",
        "CapacityFinding",
    ): "What `plimsoll capacity` finds wrong with published capacity. No plan or event has these.",
    ("decide.capacity.reports", "CapacityReason"): "Why published capacity is written.",
    (
        "decide.cluster.disruption",
        "DisruptionReason",
    ): "About PodDisruptionBudgets; also the reasons of their condition `DisruptionAllowed`.",
    (
        "decide.claims.ephemeral",
        "EphemeralReason",
    ): "About the claims of generic ephemeral volumes.",
    ("decide.cluster.garbage", "GarbageReason"): "About objects and their owners.",
    ("decide.cluster.lost_nodes", "PodEndingReason"): "Why a pod is ended by force.",
    ("decide.claims.match", "Mismatch"): "What speaks against giving a volume to a claim.",
    (
        "decide.cluster.namespace_content",
        "NamespaceReason",
    ): "About namespaces that are being deleted.",
    (
        "decide.cluster.node_lifecycle.eviction",
        "TaintEvictionReason",
    ): "About pods and the NoExecute taints of their nodes.",
    (
        "decide.cluster.node_lifecycle.health",
        "NodeHealthReason",
    ): "About nodes that are not heard of. The first two are reasons of their conditions as well.",
    (
        "decide.cluster.node_lifecycle.taints",
        "EvictionLeave",
    ): "Whether the pods of a node that is not ready may be ended. No plan or event has these.",
    ("decide.cluster.node_lifecycle.taints", "TaintReason"): "About the taints of nodes.",
    (
        "decide.cluster.node_lifecycle.zones",
        "ZoneState",
    ): "How much of a zone is ready. No plan or event has these.",
    (
        "decide.claims.protection",
        "ProtectionReason",
    ): "About the finalizers of claims in use and bound volumes.",
    (
        "decide.repair.orphaned_intents",
        "OrphanReason",
    ): "About volumes that were being made on a node that is gone. It is an event, too.",
    (
        "decide.repair.repairs",
        "RepairReason",
    ): "About what repair rules have found. Each is an event, too.",
    (
        "decide.rollback.telling",
        "RollbackReason",
    ): "About unused volumes that keep pods from running. Each is an event, too.",
    (
        "decide.provisioning.in_process.unrecorded_assets",
        "UnrecordedAssetReason",
    ): "About the finalizer that an earlier version left on claims it was provisioning for.",
    ("decide.scheduling.reasons", "Reason"): "What speaks against a node for a pod, or keeps a pod "
    "from its node or its volumes. The scheduler puts them in brackets behind the message of the "
    "event `FailedScheduling` and of the condition `PodScheduled`, and counts pods by them; "
    "`plimsoll explain` prints them with numbers.",
    (
        "decide.cluster.service_accounts",
        "ServiceAccountReason",
    ): "About the default account of a namespace.",
    ("decide.workloads.cron_job.cron_job", "CronJobReason"): "About CronJobs.",
    ("decide.workloads.daemon_set.daemon_set", "DaemonSetReason"): "About DaemonSets.",
    ("decide.workloads.deployment.deployment", "DeploymentReason"): "About Deployments.",
    ("decide.workloads.job.job", "JobReason"): "About Jobs.",
    ("decide.workloads.owned", "OwnershipReason"): "About what belongs to a workload.",
    ("decide.workloads.replica_set", "ReplicaSetReason"): "About ReplicaSets.",
    ("decide.workloads.stateful_set.stateful_set", "StatefulSetReason"): "About StatefulSets.",
    ("decide.claims.zonal", "ZonalReason"): "About volumes with zone labels.",
    (
        "processes.controller.in_process.provisioners.protocol",
        "Trouble",
    ): "What a provisioner inside the controller says when it did not do what it was asked for.",
}

STATUS = "What is known of its pods is written into the status."

SENTENCES: dict[Name, dict[str, str]] = {
    ("decide.csi.attach_detach", "AttachDetachReason"): {
        "CHANGED": "An attachment comes or goes, or the node's list of devices is corrected.",
        "WAITING": "Another program, mostly the node, has to do something first.",
    },
    ("decide.claims.reasons", "BindingReason"): {
        "FAILED_BINDING": "No volume and no class, or the volume that the claim names is taken.",
        "VOLUME_MISMATCH": "The volume that was asked for does not suit the claim.",
        "WAIT_FOR_FIRST_CONSUMER": "The class delays binding, and no pod uses the claim yet.",
        "WAIT_FOR_POD_SCHEDULED": "The class delays binding, and the pod has no node yet.",
        "CLAIM_LOST": "A claim that was bound names a volume that is gone, or none any more.",
        "CLAIM_MISBOUND": "A claim that was bound names a volume that serves another claim.",
        "EXTERNAL_PROVISIONING": "The claim is handed over to a provisioner outside this process.",
        "PROVISIONING_FAILED": "No volume: the class, the provisioner or the API refused.",
        "PROVISIONING_CLEANUP_FAILED": "An asset that is not wanted could not be deleted.",
        "PROVISIONING_SUCCEEDED": "The asset was created and its volume is stored.",
        "SELECTED_NODE_CHANGED": "Another node was selected while the volume was created, and "
        "cannot reach it: the volume is deleted, unused, and created for that node.",
        "VOLUME_DELETE": "The volume is still in use and is deleted later.",
        "VOLUME_FAILED_DELETE": "The asset could not be deleted; it is tried again.",
        "VOLUME_FAILED_RECYCLE": "The volume is in use, or no provisioner could empty it.",
        "VOLUME_RECYCLED": "The volume was emptied and is available again.",
        "VOLUME_UNKNOWN_RECLAIM_POLICY": "The volume has an unknown reclaim policy.",
        "BOUND": "Claim and volume name each other, or do so after this plan.",
        "REQUESTED_VOLUME_IS_MISSING": "The claim names a volume that does not exist yet.",
        "DEFAULT_CLASS_ASSIGNED": "A claim without a class gets the default one after the fact.",
        "CLASS_WITHOUT_BINDING_MODE": "The class does not say when to bind.",
        "SELECTOR_IS_INVALID": "The claim's selector cannot be read.",
        "PROVISIONING_IS_DISABLED": "Nothing is provisioned in this cluster.",
        "PROVISIONING": "A provisioner inside this process provisions the volume.",
        "PROVISIONED_ALREADY": "The volume for this claim is stored; binding follows.",
        "AVAILABLE": "The volume is free, or kept for a claim that does not exist yet.",
        "RETAINED": "The claim is gone and the volume is kept for a person to look at.",
        "DELETING": "What is behind the volume is being deleted by this process.",
        "DELETED": "The asset is gone, and the volume goes, too.",
        "RECYCLING": "The volume is being emptied for its next claim.",
    },
    ("decide.claims.ephemeral", "EphemeralReason"): {
        "CLAIM_MISSING": "The pod's claim is created.",
        "CLAIM_NOT_OWNED": "A claim of that name exists and does not belong to the pod.",
    },
    ("decide.cluster.garbage", "GarbageReason"): {
        "OWNED": "Some owner exists: the object stays.",
        "DEPENDENTS_GONE": "The object waited for its dependents, and they are gone.",
        "DEPENDENTS_REMAIN": "The object still waits for its dependents.",
        "ORPHANED": "The dependents no longer name the object, which may go now.",
    },
    ("decide.cluster.lost_nodes", "PodEndingReason"): {
        "NODE_GONE": "Its node does not exist any more.",
        "OUT_OF_SERVICE": "It is being deleted, and a taint says that its node is off.",
        "NEVER_SCHEDULED": "It is being deleted and was never on a node.",
        "TOO_MANY": "It has ended, and very many such pods are kept.",
    },
    ("decide.claims.match", "Mismatch"): {
        "TAKEN": "It names another claim.",
        "ALREADY_CHOSEN": "The same pod gets it for another of its claims.",
        "TOO_SMALL": "It is smaller than what is asked for.",
        "WRONG_VOLUME_MODE": "One is a block device, the other a file system.",
        "WRONG_ATTRIBUTES_CLASS": "Claim and volume differ in their VolumeAttributesClass.",
        "BEING_DELETED": "It is on its way out.",
        "LEFT_TO_SCHEDULER": "Binding is delayed: only the scheduler may choose a free volume.",
        "NOT_AVAILABLE": "Its phase is not Available.",
        "WRONG_LABELS": "The claim's selector does not match its labels.",
        "WRONG_CLASS": "It is of another class.",
        "WRONG_ACCESS_MODES": "It does not offer every access mode that is asked for.",
        "UNREACHABLE": "Its node affinity excludes the node.",
    },
    ("decide.cluster.namespace_content", "NamespaceReason"): {
        "GONE": "The namespace is empty and its finalizer goes.",
        "REMAINS": "Objects are still on their way out; the namespace's conditions say which.",
        "FAILED": "Some objects could not be listed or deleted; it is tried again.",
    },
    ("decide.repair.repairs", "RepairReason"): {
        "SELECTED_NODE_GONE": "The selected node is gone: it is taken off the claim.",
        "SELECTED_NODE_SET": "A pod was put on a node directly: the claim gets that node.",
        "VOLUME_LOST": "The only node that could reach the volume is gone for good.",
        "CAPACITY_ORPHANED": "No publisher keeps the capacity up to date, and it misleads.",
    },
    ("decide.provisioning.in_process.unrecorded_assets", "UnrecordedAssetReason"): {
        "BEGUN": "Before anything is created, the claim gets the finalizer.",
    },
    ("decide.scheduling.reasons", "Reason"): {
        "NO_CAPACITY_PUBLISHED": (
            "The driver reports capacity, but none for this node, or no number for it."
        ),
        "CAPACITY_ZERO": "Nothing is left in the segment that the node belongs to.",
        "CAPACITY_TOO_SMALL": "What is left, or the largest possible volume, is too small.",
        "CAPACITY_STALE": "The publisher of the capacity has not looked for longer than its lease "
        "promises: the number may be anything.",
        "CAPACITY_RESERVED": "What is left is kept for volumes that are decided but not reported.",
        "CLAIMS_DO_NOT_FIT_TOGETHER": "Each of the pod's claims fits, all of them do not.",
        "DRIVER_NOT_ON_NODE": "The CSI driver does not run on this node.",
        "TOPOLOGY_KEY_MISSING": "The node lacks a label that the topology is about.",
        "OUTSIDE_ALLOWED_TOPOLOGIES": "The class does not allow volumes where the node is.",
        "CLASS_NOT_FOUND": "The claim's class does not exist.",
        "CLASS_WITHOUT_BINDING_MODE": "The class does not say when to bind.",
        "NO_MATCHING_VOLUME": "No volume suits the claim here, and none can be provisioned.",
        "VOLUME_AFFINITY_CONFLICT": "A bound volume cannot be reached from the node.",
        "VOLUME_ZONE_CONFLICT": "A bound volume is labelled with another zone or region.",
        "VOLUME_NOT_FOUND": "The claim is bound to a volume that does not exist.",
        "ATTACH_LIMIT_REACHED": "The node cannot have more volumes of this driver attached.",
        "CLAIM_NOT_FOUND": "The pod names a claim that does not exist.",
        "CLAIM_LOST": "The claim has lost its volume.",
        "CLAIM_DELETING": "The claim is being deleted.",
        "CLAIM_NOT_OWNED": "The claim of an ephemeral volume does not belong to the pod.",
        "UNBOUND_IMMEDIATE_CLAIM": "The claim is to be bound at once, and is not bound yet.",
        "SELECTED_ELSEWHERE": "Provisioning for the claim is under way for another node.",
        "READ_WRITE_ONCE_POD_CONFLICT": "Another pod uses a claim that only one pod may use.",
        "DATA_SOURCE_NOT_FOUND": "The claim or snapshot that the claim is to be a copy of does not "
        "exist.",
        "DATA_SOURCE_NOT_READY": "The claim or snapshot that the claim is to be a copy of cannot "
        "be copied yet.",
        "PROVISIONER_STOPPED": "The lease of the provisioner, or of its capacity publisher, ran "
        "out: no process provisions volumes for the claim.",
        "PROVISIONER_REFUSED": "The provisioner, or the driver behind it, said no to the claim, "
        "or turned the node down.",
        "PROVISIONING_FAILED": "The provisioner tries to make the volume, and fails.",
        "PROVISIONING_OVERDUE": "The claim was handed over to a provisioner more than five minutes "
        "ago, and no event or volume shows that it is at work.",
        "MOUNT_FAILED": "A volume could not be attached to the pod's node, or not mounted there.",
        "NODE_GONE": "The node that was selected for the claim, or that the pod is on, does not "
        "exist.",
        "NODE_NOT_READY": "The node that the pod is on is not ready: its volumes are not mounted.",
        "SCHEDULER_STOPPED": "The lease of the scheduler that the pod names ran out.",
        "SCHEDULING_FAILED": "The scheduler's last attempt failed, for a reason that `explain` "
        "does not find now.",
        "PODS_MISSING": "A workload has fewer pods than it asks for.",
        "NODE_NOT_FOUND": "The node is gone.",
        "POD_NOT_FOUND": "The pod is gone.",
        "BINDING_TIMED_OUT": "The volumes were not bound in time.",
        "INSUFFICIENT_RESOURCE": "The node has too little of a resource that the pod requests.",
        "TOO_MANY_PODS": "The node runs as many pods as it may.",
        "UNTOLERATED_TAINT": "The node has a taint that the pod does not tolerate.",
        "NODE_UNSCHEDULABLE": "The node takes no new pods.",
        "NODE_AFFINITY_MISMATCH": "The pod's node selector or affinity excludes the node.",
        "POD_AFFINITY_CONFLICT": "The pod wants to be near pods that are not here.",
        "POD_ANTI_AFFINITY_CONFLICT": "The pod, or one that is here, wants to be apart.",
        "SPREAD_CONFLICT": "The pod's spreading would become too uneven.",
        "PORT_CONFLICT": "A port that the pod needs on the node is taken.",
    },
    ("decide.cluster.service_accounts", "ServiceAccountReason"): {
        "MISSING": "The namespace gets its account `default`.",
    },
    ("decide.workloads.daemon_set.daemon_set", "DaemonSetReason"): {
        "REPORTED": STATUS,
        "UNSELECTIVE": "The selector is empty: nothing is done.",
    },
    ("decide.workloads.deployment.deployment", "DeploymentReason"): {"REPORTED": STATUS},
    ("decide.workloads.job.job", "JobReason"): {
        "REPORTED": STATUS,
        "EXPIRED": "The job ended long enough ago to be deleted, or will have.",
    },
    ("decide.workloads.replica_set", "ReplicaSetReason"): {"REPORTED": STATUS},
    ("decide.workloads.stateful_set.stateful_set", "StatefulSetReason"): {"REPORTED": STATUS},
    ("decide.claims.zonal", "ZonalReason"): {
        "UPGRADED": "The labels became node affinity.",
        "NO_LABELS": "The volume has no zone or region labels.",
        "ALREADY_THERE": "Its node affinity speaks about zone or region already.",
        "BEING_DELETED": "The volume is being deleted.",
        "UNREADABLE": "A zone label is empty, or has an empty part between two underscores.",
        "CONTRADICTORY": "Its older and newer labels name different places.",
    },
}

SETTINGS: dict[Name, dict[str, str]] = {
    ("runtime.leading.leader", "ElectionSettings"): {
        "identity": "The name of this copy in the election; each copy has its own.",
        "lease_duration": "How long others wait for a leader that says nothing.",
        "renew_deadline": "How long a leader goes on without having renewed its lease.",
        "retry_period": "How often a leader renews, and others look.",
    },
    ("cache.informer", "InformerSettings"): {
        "page_size": "Objects in one page of a list.",
        "backoff": "Pauses after failures: from 0.8 to 30 seconds.",
    },
    ("enact.event_correlation", "CorrelationSettings"): {
        "burst": "Events about one object at once, before they are cut off.",
        "refill_every": "How often one more is allowed after that.",
        "window": "Events this far apart are not combined.",
    },
    ("enact.events", "RecorderSettings"): {
        "queue_limit": "Events that may wait to be written; more are dropped and counted.",
        "correlation": "How repetitions and floods are dealt with: the struct above.",
    },
    ("apiserver.main", "ApiServerSettings"): {
        "data_dir": "Where objects, keys and certificates are kept.",
        "write_kubeconfig": "Where the administrator's kubeconfig is written.",
    },
}
