"""From which nodes a volume can be used: what the driver says, as a volume says it, and back."""

from collections.abc import Sequence

from plimsoll.api.registry import Document
from plimsoll.api.selectors.node import NodeSelector, NodeSelectorSpec
from plimsoll.decide.provisioning.calls import Segment


def node_affinity(segments: Sequence[Segment]) -> Document | None:
    """One term per segment that names labels; None if the driver says nothing.

    A driver that returns nothing but empty segments gets an affinity without terms, which the API
    refuses; see `usable_affinity`.
    """
    if not segments:
        return None
    terms = [_term(segment) for segment in segments if segment]
    return {"required": {"nodeSelectorTerms": terms or None}}


def usable_affinity(segments: Sequence[Segment]) -> Document | None:
    """The same, but a volume that is bound to no labels is a volume for all nodes."""
    return node_affinity([segment for segment in segments if segment])


def _term(segment: Segment) -> Document:
    return {
        "matchExpressions": [
            {"key": key, "operator": "In", "values": [value]}
            for key, value in sorted(segment.items())
        ]
    }


def reach_complaint(required: NodeSelectorSpec | None, segment: Segment | None) -> str:
    """Why it cannot be told whether a node in the segment reaches the volume; empty if it can."""
    if required is None or segment is None:
        return ""
    selector = NodeSelector.of(required)
    return "" if selector.matches(segment) else selector.complaint


def is_reachable(required: NodeSelectorSpec | None, segment: Segment | None) -> bool:
    """Where either side says nothing, every volume can be reached from everywhere."""
    if required is None or segment is None:
        return True
    return NodeSelector.of(required).matches(segment)
