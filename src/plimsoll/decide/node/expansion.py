"""What is written about a claim whose volume has grown to its new size on the node."""

from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.plan import Patch
from plimsoll.decide.resources import CLAIMS
from plimsoll.decide.statuses import condition_document, status_patch

RESIZE_CONDITIONS = frozenset(
    {"Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"}
)


def resize_finished(claim: PersistentVolumeClaim, capacity: str) -> Patch:
    """The new size counts from now on; nothing about resizing is left to be said."""
    kept = [c for c in claim.status.conditions if c.type not in RESIZE_CONDITIONS]
    status: Document = {
        "capacity": {"storage": capacity},
        "conditions": [condition_document(condition) for condition in kept] or None,
    }
    if claim.status.allocated_resource_statuses:
        status["allocatedResourceStatuses"] = {"storage": None}
    return status_patch(CLAIMS, claim, status)
