"""Which nodes provisioners refused to a pod, and why: the scheduler prefers other nodes meanwhile.

A provisioner refuses a node by taking it off the claim that names it. What published capacity does
not tell (it is not tracked, a zone fails, a topology key is missing) is learned from that. A node
stays refused to a pod until something changes that can make a difference (capacity, class, driver
or node), or until a backoff ends that doubles each time the node is refused again. The memory is
bounded, goes with its pod, and starts empty: what it says can be learned again.

Where every node that will do was refused and nothing has changed, the next attempt waits, longer
each time: it would make and delete volumes only to be refused again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.columns.capacity import largest_volume
from plimsoll.decide.scheduling.queue.backoff import Attempts, PodBackoff
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import is_in_segment

REFUSAL_BACKOFF = PodBackoff(first=timedelta(minutes=1), limit=timedelta(minutes=10))
LOOP_BACKOFF = PodBackoff(first=timedelta(seconds=10), limit=timedelta(minutes=5))
"""Before a node is tried again that refused the pod, and has not changed since."""
MOST_NODES = 250
"""Per pod; where more refused, the one that did so first is forgotten."""
ERROR_LENGTH = 300

LabelsOfNode = Callable[[str], Mapping[str, str]]
"""By name of the node; empty where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    node: str
    claim: ObjectKey
    storage_class: str
    driver: str
    """Whose provisioner refused."""
    at: datetime
    times: int = 1
    """How often in a row."""
    error: str = ""
    """What the provisioner said; empty: it is not known."""
    published_bytes: int | None = None
    """The largest volume that was published for the class and the node's segment then; None:
    nothing was published."""
    returned_bytes: int = 0
    """What the pod's other volumes took, at most: it is given back, and no more than before."""
    hold: str = ""
    """The id of the hold that went with the node; empty: the claim was not held."""

    def is_answered_by(self, published: CSIStorageCapacity) -> bool:
        """Whether there is more than there was when the node was refused."""
        largest = largest_volume(published)
        if largest is None:
            return False
        if self.published_bytes is None:
            return True
        return largest.value > self.published_bytes + self.returned_bytes

    def is_active(self, now: datetime) -> bool:
        return now < self.at + REFUSAL_BACKOFF.delay(Attempts(unschedulable=self.times))


def tell_refusal(refusal: Refusal) -> Finding:
    """In the words of kube-scheduler, followed by what it does not say."""
    sentence = f'provisioning failed for PVC "{refusal.claim.name}"'
    sentence += f": {refusal.driver or 'the provisioner'} refused node {refusal.node}"
    if refusal.error:
        sentence += f": {refusal.error}"
    about = SeenObject("Node", ObjectKey("", refusal.node))
    return Finding(
        reason=Reason.PROVISIONER_REFUSED, sentence=sentence, claim=refusal.claim, about=about
    )


def tell_pause(refusal: Refusal, pause: timedelta) -> Finding:
    """Every node that will do was refused, this one as well."""
    seconds = int(pause.total_seconds())
    told = tell_refusal(refusal)
    sentence = (
        f"every node that will do was refused, and nothing has changed since; the next attempt is "
        f"{seconds}s after the last; {told.sentence}"
    )
    return replace(told, sentence=sentence)


def shortened(error: str) -> str:
    """Fit for one line of an event."""
    line = " ".join(error.split())
    return line if len(line) <= ERROR_LENGTH else f"{line[: ERROR_LENGTH - 1]}…"


def find_refused_node(before: ApiObject | None, after: ApiObject | None) -> str | None:
    """The node that was taken off a claim which still waits for its volume."""
    if not (isinstance(before, PersistentVolumeClaim) and isinstance(after, PersistentVolumeClaim)):
        return None
    is_waiting = not after.spec.volume_name and not after.is_being_deleted
    if before.uid != after.uid or not is_waiting or SELECTED_NODE in after.annotations:
        return None
    return before.annotations.get(SELECTED_NODE) or None


@dataclass(slots=True)
class _Remembered:
    uid: str
    by_node: dict[str, Refusal]
    """The one that refused last is the last."""


class Refusals:
    """The memory. Neither waits nor looks at a clock."""

    def __init__(self) -> None:
        self._by_pod: dict[ObjectKey, _Remembered] = {}

    def __len__(self) -> int:
        return sum(len(remembered.by_node) for remembered in self._by_pod.values())

    def add(self, pod: Pod, refusal: Refusal) -> Refusal:
        """With how often the node has refused the pod by now."""
        remembered = self._by_pod.get(pod.key)
        if remembered is None or remembered.uid != pod.uid:
            remembered = self._by_pod[pod.key] = _Remembered(pod.uid, {})
        before = remembered.by_node.pop(refusal.node, None)
        counted = _counted(before, refusal)
        remembered.by_node[refusal.node] = counted
        if len(remembered.by_node) > MOST_NODES:
            del remembered.by_node[next(iter(remembered.by_node))]
        return counted

    def find(self, pod: Pod, node: str) -> Refusal | None:
        remembered = self._by_pod.get(pod.key)
        if remembered is None or remembered.uid != pod.uid:
            return None
        return remembered.by_node.get(node)

    def set_error(self, pod: Pod, node: str, error: str) -> Refusal | None:
        """What the provisioner said, which is often known only later."""
        refusal = self.find(pod, node)
        if refusal is None:
            return None
        told = replace(refusal, error=shortened(error))
        self._by_pod[pod.key].by_node[node] = told
        return told

    def correct(self, pod: Pod, refusal: Refusal) -> Refusal | None:
        """What is known of the last refusal by the node was about another claim than this."""
        known = self.find(pod, refusal.node)
        if known is None:
            return None
        corrected = replace(refusal, at=known.at, times=known.times, hold=known.hold)
        self._by_pod[pod.key].by_node[refusal.node] = corrected
        return corrected

    def active(self, pod: Pod, now: datetime) -> list[Refusal]:
        """Those that count now, the least recent first."""
        remembered = self._by_pod.get(pod.key)
        if remembered is None or remembered.uid != pod.uid:
            return []
        return [refusal for refusal in remembered.by_node.values() if refusal.is_active(now)]

    def in_turn(self, pod: Pod, now: datetime) -> list[Refusal]:
        """In which order nodes are to be tried again, after those that have not refused the pod.

        As long as one counts, those that have ended take their turns as well. Two nodes with the
        best scores, whose refusals end one after the other, would else be tried by turns for ever.
        """
        if not self.active(pod, now):
            return []
        return [*self._by_pod[pod.key].by_node.values()]

    def not_before(self, pod: Pod, node: str) -> datetime | None:
        """When the node may be tried again for the pod; None: it has not refused the pod, or has
        changed since."""
        refusal = self.find(pod, node)
        if refusal is None:
            return None
        last = max(each.at for each in self._by_pod[pod.key].by_node.values())
        return last + LOOP_BACKOFF.delay(Attempts(unschedulable=refusal.times))

    def forget_pod(self, key: ObjectKey) -> None:
        self._by_pod.pop(key, None)

    def observe(
        self, before: ApiObject | None, after: ApiObject | None, labels_of: LabelsOfNode
    ) -> None:
        """Forget what may be different after this change."""
        if not self._by_pod:
            return
        for key, remembered in [*self._by_pod.items()]:
            outdated = [*_outdated(remembered.by_node.values(), before, after, labels_of)]
            for refusal in outdated:
                del remembered.by_node[refusal.node]
            if not remembered.by_node:
                del self._by_pod[key]


def _counted(before: Refusal | None, refusal: Refusal) -> Refusal:
    """Node and hold go from every claim of an attempt that is given up: that is one refusal."""
    if before is None:
        return refusal
    if refusal.hold and refusal.hold == before.hold:
        return before
    return replace(refusal, times=1 + before.times)


def _outdated(
    refusals: Iterable[Refusal],
    before: ApiObject | None,
    after: ApiObject | None,
    labels_of: LabelsOfNode,
) -> Iterator[Refusal]:
    match after or before:
        case Node(name=name) if _differs(before, after):
            yield from (refusal for refusal in refusals if refusal.node == name)
        case StorageClass(name=name) if _differs(before, after):
            yield from (refusal for refusal in refusals if refusal.storage_class == name)
        case CSIDriver(name=name) if _differs(before, after):
            yield from (refusal for refusal in refusals if refusal.driver == name)
        case CSINode(name=name):
            yield from (
                refusal
                for refusal in refusals
                if refusal.node == name and _entry(before, refusal) != _entry(after, refusal)
            )
        case CSIStorageCapacity() as published if _has_more(before, after):
            yield from (
                refusal
                for refusal in refusals
                if refusal.storage_class == published.storage_class_name
                and is_in_segment(labels_of(refusal.node), published)
                and refusal.is_answered_by(published)
            )
        case _:
            return


def _differs(before: ApiObject | None, after: ApiObject | None) -> bool:
    """In what provisioners look at: heartbeats and versions are no difference."""
    return _relevant(before) != _relevant(after)


def _relevant(object_: ApiObject | None) -> object:
    match object_:
        case Node():
            return object_.uid, object_.labels, object_.spec
        case StorageClass():
            return (
                object_.uid,
                object_.provisioner,
                object_.parameters,
                object_.allowed_topologies,
                object_.mount_options,
            )
        case CSIDriver():
            return object_.uid, object_.spec
        case _:
            return None


def _entry(csi_node: ApiObject | None, refusal: Refusal) -> object:
    return csi_node.find_driver(refusal.driver) if isinstance(csi_node, CSINode) else None


def _has_more(before: ApiObject | None, after: ApiObject | None) -> bool:
    """Less is no reason to ask again: capacity that is too small keeps the pod away by itself."""
    if not isinstance(after, CSIStorageCapacity):
        return False
    if not isinstance(before, CSIStorageCapacity) or before.node_topology != after.node_topology:
        return True
    old, new = largest_volume(before), largest_volume(after)
    return new is not None and (old is None or new.value > old.value)
