"""Tells users when a class or a pod asks for a placement of volumes that cannot be parsed.

The annotation is ignored then, and nothing fails; without an event a user would wait in vain for
its effect.
"""

from collections.abc import Callable, Sequence

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.decide.plan import Emit, EventType, Plan
from plimsoll.decide.scheduling.placement.preference import class_complaints, pod_complaints
from plimsoll.processes.scheduler.events import SchedulingEventReason, identity_of
from plimsoll.processes.scheduler.state import ChangeHandler


def complaining_of_placement(
    tell: Callable[[ObjectKey, Plan], None], *, is_ours: Callable[[Pod], bool]
) -> ChangeHandler:
    """Once for each change of the annotations of a class, or of a pod that waits for its node."""

    def complain(before: ApiObject | None, after: ApiObject | None) -> None:
        if after is None or (before is not None and before.annotations == after.annotations):
            return
        if isinstance(after, StorageClass):
            found, about = class_complaints(after.annotations), _identity_of_class(after)
        elif isinstance(after, Pod) and not after.spec.node_name and is_ours(after):
            found, about = pod_complaints(after.annotations), identity_of(after)
        else:
            return
        if found:
            tell(after.key, placement_unreadable(about, found))

    return complain


def placement_unreadable(about: Document, complaints: Sequence[str]) -> Plan:
    emit = Emit(
        regarding=about,
        type=EventType.WARNING,
        reason=SchedulingEventReason.PLACEMENT_UNREADABLE,
        message=". ".join(complaints),
    )
    return Plan(reason=SchedulingEventReason.PLACEMENT_UNREADABLE, writes=(emit,))


def _identity_of_class(class_: StorageClass) -> Document:
    metadata = {
        "name": class_.name,
        "uid": class_.uid,
        "resourceVersion": class_.metadata.resource_version,
    }
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}
