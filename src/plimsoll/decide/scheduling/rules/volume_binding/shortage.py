"""How much capacity a pod's claims need, and how much is published: the numbers in the event."""

from collections.abc import Iterator

from plimsoll.api.pods import Pod
from plimsoll.api.quantity import Format, Quantity
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.decide.capacity.templates import is_template
from plimsoll.decide.scheduling.columns.capacity import largest_volume
from plimsoll.decide.scheduling.reasons import Finding, Reason
from plimsoll.decide.scheduling.view import ClusterView

JOINT_REASONS = frozenset({Reason.CLAIMS_DO_NOT_FIT_TOGETHER, Reason.CAPACITY_RESERVED})


def shortages(pod: Pod, view: ClusterView) -> Iterator[str]:
    """A part of a sentence for each claim that is larger than all that is published for it."""
    for key in pod.claims:
        claim = view.claim(key)
        class_ = view.storage_class(claim.storage_class) if claim else None
        if claim is None or class_ is None or claim.spec.volume_name:
            continue
        wanted = claim.spec.requested_bytes
        largest = _largest(class_, view)
        if largest is not None and largest < wanted:
            yield f"claim {key.name} needs {_shown(wanted)}, at most {_shown(largest)} can be made"


def is_joint(finding: Finding) -> bool:
    return finding.reason in JOINT_REASONS


def joint_shortage(finding: Finding) -> str:
    """Of claims that fit alone and not together, with the numbers of one node."""
    wanted, seen = finding.wanted or 0, finding.seen or 0
    has = f"{_shown(seen)}, but not on disks that suit" if seen >= wanted else _shown(seen)
    if finding.reason is Reason.CAPACITY_RESERVED:
        told = f"the claims need {_shown(wanted)} of {finding.about}"
        return f"{told}, which has {has} beside what is reserved"
    return f"the claims need {_shown(wanted)} of {finding.about} together, which has {has}"


def _largest(class_: StorageClass, view: ClusterView) -> int | None:
    """None: nothing is published, but for nodes that do not exist, or not yet."""
    published = view.capacities_of_class(class_.name)
    limits = [largest_volume(each) for each in published if _is_somewhere(each)]
    return max((limit.value for limit in limits if limit is not None), default=None)


def _is_somewhere(capacity: CSIStorageCapacity) -> bool:
    """An object without a topology is about no node: its number helps no pod."""
    return capacity.node_topology is not None and not is_template(capacity)


def _shown(size_bytes: int) -> str:
    return Quantity(size_bytes, format=Format.BINARY_SI).canonical
