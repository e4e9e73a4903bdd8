"""What a StatefulSet says of itself: how many pods it has, of which revision."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.workloads import StatefulSet
from plimsoll.decide.workloads.availability import is_available
from plimsoll.decide.workloads.revisions import REVISION_LABEL
from plimsoll.decide.workloads.stateful_set.pods import ordinal_of, replicas_of

ROLLING_UPDATE = "RollingUpdate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRevisions:
    """The revisions of a set, by name."""

    current: str
    update: str
    collisions: int
    updating: int = 0
    """Pods that are about to be deleted, to be made anew from the newest revision."""


def known_status(set_: StatefulSet) -> Document:
    """What the set says already."""
    status = set_.status
    return {
        "observedGeneration": status.observed_generation,
        "replicas": status.replicas,
        "readyReplicas": status.ready_replicas,
        "availableReplicas": status.available_replicas,
        "currentReplicas": status.current_replicas,
        "updatedReplicas": status.updated_replicas,
        "currentRevision": status.current_revision,
        "updateRevision": status.update_revision,
        "collisionCount": status.collision_count or 0,
    }


def status_document(
    set_: StatefulSet, pods: Iterable[Pod], revisions: ReportedRevisions, now: datetime
) -> Document:
    """As it was observed, but for the pods that are about to be updated."""
    min_ready = set_.spec.min_ready_seconds
    own = [pod for pod in pods if pod.status.phase and ordinal_of(pod) >= 0]
    ready = [pod for pod in own if pod.status.phase == "Running" and pod.is_ready]
    available = [p for p in ready if is_available(p, min_ready, now)] if min_ready else ready
    staying = [p.labels.get(REVISION_LABEL, "") for p in own if not p.is_being_deleted]
    updated = staying.count(revisions.update)
    status: Document = {
        "observedGeneration": set_.metadata.generation,
        "replicas": len(own),
        "readyReplicas": len(ready),
        "availableReplicas": len(available),
        "currentReplicas": max(staying.count(revisions.current) - revisions.updating, 0),
        "updatedReplicas": updated,
        "currentRevision": revisions.current,
        "updateRevision": revisions.update,
        "collisionCount": revisions.collisions,
    }
    is_complete = {updated, len(ready), len(own)} == {replicas_of(set_)}
    if is_complete and set_.spec.update_strategy.type == ROLLING_UPDATE:
        status |= {"currentReplicas": updated, "currentRevision": revisions.update}
    return status
