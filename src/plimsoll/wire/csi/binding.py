"""How a call of CreateVolume says when its claim is bound: a key of its metadata.

CSI does not say whether the first preferred segment is that of a node which was selected for a pod,
or one of many that would do. `plimsoll-binding` does: `delayed` or `immediate`. Drivers that do not
know the key ignore it.
"""

from enum import StrEnum

from plimsoll.wire.csi.transport import Metadata

BINDING_KEY = "plimsoll-binding"


class ClaimBinding(StrEnum):
    IMMEDIATE = "immediate"
    """No node is selected: the volume may be wherever the request allows."""
    DELAYED = "delayed"
    """The first preferred segment is that of the node that was selected for the pod."""


def binding_metadata(binding: ClaimBinding) -> Metadata:
    return {BINDING_KEY: binding.value}


def find_binding(metadata: Metadata) -> ClaimBinding | None:
    """None: the caller does not say; other programs do not know the key."""
    told = metadata.get(BINDING_KEY, "")
    return next((binding for binding in ClaimBinding if binding == told), None)
