"""Which node a claim is to be provisioned for."""

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE

ALPHA_SELECTED_NODE = "volume.alpha.kubernetes.io/selected-node"
"""Not enough to begin, but respected where the newer annotation is missing."""


def selected_node_of(claim: PersistentVolumeClaim) -> str:
    """Empty: none."""
    older = claim.annotations.get(ALPHA_SELECTED_NODE, "")
    return claim.annotations.get(SELECTED_NODE, older)
