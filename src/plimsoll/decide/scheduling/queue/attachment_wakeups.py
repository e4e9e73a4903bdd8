"""Which changes can help a pod that found too many volumes on every node, beyond what
kube-scheduler asks: it does not ask pods about attachments whose claims are all of ephemeral
volumes."""

from plimsoll.api.meta import ApiObject
from plimsoll.api.storage import VolumeAttachment


def frees_attachment(before: ApiObject | None, after: ApiObject | None) -> bool:
    """Whether the change may help pods with claims: volumes of a pod that has ended count until
    they are detached."""
    return isinstance(before, VolumeAttachment) and after is None
