"""What is written about a claim whose volume has grown to its new size on the node."""

import msgspec

from plimsoll.api.meta import Condition, wire_time
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.plan import Patch, ResourceName

CLAIMS = ResourceName("", "v1", "persistentvolumeclaims")
RESIZE_CONDITIONS = frozenset(
    {"Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"}
)


def resize_finished(claim: PersistentVolumeClaim, capacity: str) -> Patch:
    """The new size counts from now on; nothing about resizing is left to be said."""
    kept = [c for c in claim.status.conditions if c.type not in RESIZE_CONDITIONS]
    status: Document = {
        "capacity": {"storage": capacity},
        "conditions": [_document(condition) for condition in kept] or None,
    }
    if claim.status.allocated_resource_statuses:
        status["allocatedResourceStatuses"] = {"storage": None}
    return Patch(
        resource=CLAIMS,
        key=claim.key,
        patch={"status": status},
        version=claim.metadata.resource_version,
        uid=claim.uid,
        subresource="status",
    )


def _document(condition: Condition) -> Document:
    document: Document = msgspec.to_builtins(condition)
    times = {"lastTransitionTime": condition.last_transition_time}
    times["lastProbeTime"] = condition.last_probe_time
    return document | {name: wire_time(at) for name, at in times.items() if at is not None}
