"""Which volumes the pods on nodes hold, and which are attached, so that they can be counted again
when a claim, a volume or a class behind them changes.
"""

from typing import Protocol

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttachment
from plimsoll.decide.scheduling.columns.attachables import (
    Attachable,
    attachables,
    can_be_limited,
)
from plimsoll.decide.scheduling.columns.attachments import AttachColumns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.reasons import Reason, Undecided
from plimsoll.decide.scheduling.view import ClusterView

NONE: frozenset[Attachable] = frozenset()
TROUBLES = {
    Reason.CLAIM_NOT_OWNED: Blocked.LIMIT_NOT_OWNED,
    Reason.VOLUME_NOT_TRANSLATABLE: Blocked.LIMIT_OTHER_UNREADABLE,
    Reason.CLAIM_IS_INVALID: Blocked.LIMIT_NAMELESS,
}


class Counted(ClusterView, Protocol):
    """A cluster in which volumes are counted."""

    attach: AttachColumns


class HeldVolumes:
    def __init__(self) -> None:
        self._held: dict[ObjectKey, frozenset[Attachable]] = {}
        self._attachments: dict[str, VolumeAttachment] = {}
        self._attached: dict[str, Attachable] = {}
        self._to_node: dict[str, set[str]] = {}
        self._of_volume: dict[str, set[str]] = {}
        self._troubles: dict[str, dict[ObjectKey, Blocked]] = {}

    @property
    def has_troubles(self) -> bool:
        return bool(self._troubles)

    def troubles(self) -> list[tuple[str, Blocked]]:
        """Nodes on which volumes cannot be counted, and why: by the first such pod."""
        return [(node, min(pods.items())[1]) for node, pods in self._troubles.items()]

    def attachments_to(self, node: str) -> list[VolumeAttachment]:
        return [self._attachments[name] for name in sorted(self._to_node.get(node, ()))]

    def count(self, pod: Pod, view: Counted) -> None:
        """Count what a pod on a node holds, instead of what it held when it was last counted."""
        if not any(map(can_be_limited, pod.spec.volumes)):
            return
        node = pod.spec.node_name
        try:
            held = attachables(pod, view.csi_node(node), view, is_new=False)
        except Undecided as undecided:
            self.forget(pod, view.attach)
            reason = undecided.judgement.findings[0].reason
            self._troubles.setdefault(node, {})[pod.key] = TROUBLES[reason]
            return
        if held and held == self._held.get(pod.key):
            return
        self.forget(pod, view.attach)
        if held:
            self._held[pod.key] = held
            view.attach.count_pod(node, held, 1)

    def forget(self, pod: Pod, attach: AttachColumns) -> None:
        node = pod.spec.node_name
        if held := self._held.pop(pod.key, NONE):
            attach.count_pod(node, held, -1)
        if node in self._troubles:
            self._troubles[node].pop(pod.key, None)
            if not self._troubles[node]:
                del self._troubles[node]

    def put_attachment(self, attachment: VolumeAttachment, view: Counted) -> None:
        self.remove_attachment(attachment.name, view.attach)
        self._attachments[attachment.name] = attachment
        self._to_node.setdefault(attachment.spec.node_name, set()).add(attachment.name)
        if volume := attachment.spec.source.persistent_volume_name:
            self._of_volume.setdefault(volume, set()).add(attachment.name)
        self._count_attachment(attachment, view)

    def remove_attachment(self, name: str, attach: AttachColumns) -> None:
        attachment = self._attachments.pop(name, None)
        if attachment is None:
            return
        self._forget_attachment(attachment, attach)
        _discard(self._to_node, attachment.spec.node_name, name)
        if volume := attachment.spec.source.persistent_volume_name:
            _discard(self._of_volume, volume, name)

    def recount_attachments(self, volume: str, view: Counted) -> None:
        for name in sorted(self._of_volume.get(volume, ())):
            self._forget_attachment(self._attachments[name], view.attach)
            self._count_attachment(self._attachments[name], view)

    def _count_attachment(self, attachment: VolumeAttachment, view: Counted) -> None:
        spec = attachment.spec
        name = spec.source.persistent_volume_name
        volume = view.volume(name) if name is not None else None
        if spec.attacher and volume and volume.spec.csi:
            attachable = Attachable(spec.attacher, volume.spec.csi.volume_handle)
            self._attached[attachment.name] = attachable
            view.attach.count_attachment(spec.node_name, attachable, 1)

    def _forget_attachment(self, attachment: VolumeAttachment, attach: AttachColumns) -> None:
        attachable = self._attached.pop(attachment.name, None)
        if attachable is not None:
            attach.count_attachment(attachment.spec.node_name, attachable, -1)

    def fork(self) -> "HeldVolumes":
        twin = HeldVolumes()
        twin._held, twin._attachments = self._held.copy(), self._attachments.copy()
        twin._attached = self._attached.copy()
        twin._to_node = {node: names.copy() for node, names in self._to_node.items()}
        twin._of_volume = {volume: names.copy() for volume, names in self._of_volume.items()}
        twin._troubles = {node: pods.copy() for node, pods in self._troubles.items()}
        return twin


def _discard(index: dict[str, set[str]], key: str, name: str) -> None:
    index[key].discard(name)
    if not index[key]:
        del index[key]
