"""Whether a node can reach a volume, by the segments that the driver named for it."""

from collections.abc import Sequence

from plimsoll.api.core import Node
from plimsoll.decide.provisioning.calls import Segment


def is_reachable(segments: Sequence[Segment], node: Node | None) -> bool:
    """A volume without segments is reachable from everywhere; any other from no unknown node."""
    if not any(segments):
        return True
    labels = {} if node is None else node.labels
    return any(segment and segment.items() <= labels.items() for segment in segments)
