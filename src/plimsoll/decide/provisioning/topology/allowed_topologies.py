"""Whether a volume stays within the allowedTopologies of its class: the driver's answer is checked.

A requisite topology asks that a volume be reachable from some of its segments; a driver that keeps
a volume in several may add others. Only the provisioner knows the class, so it looks at the answer.

A segment is allowed if one term of the class admits it: the terms are alternatives, the expressions
of a term hold together. What the segment itself does not say (a class may name other labels than
the driver reports) its nodes say: then every node in the segment must be admitted, and there must
be one. A label of a served domain says nothing of the nodes that have taken the domain over: the
domain is allowed if a node that is at home in it is admitted.
"""

from collections.abc import Iterable, Sequence

from plimsoll.api.core import Node
from plimsoll.api.selectors.topology import TopologySelector, TopologyTermSpec
from plimsoll.decide.ceph.takeover.served_labels import is_home, is_served_segment
from plimsoll.decide.provisioning.calls import Segment


def outside_allowed(
    segments: Iterable[Segment], allowed: Sequence[TopologyTermSpec], nodes: Iterable[Node]
) -> tuple[Segment, ...]:
    """The segments that the class does not allow; a segment without labels says nothing."""
    selector, known = TopologySelector.of(allowed), tuple(nodes)
    return tuple(each for each in segments if each and not _is_allowed(each, selector, known))


def _is_allowed(segment: Segment, selector: TopologySelector, nodes: Sequence[Node]) -> bool:
    if selector.matches(segment):
        return True
    if is_served_segment(segment):
        homes = (node.labels for node in nodes if is_home(segment, node.labels))
        return any(map(selector.matches, homes))
    inside = [node.labels for node in nodes if segment.items() <= node.labels.items()]
    return bool(inside) and all(map(selector.matches, inside))


def shown_segments(segments: Iterable[Segment]) -> str:
    """`[zone=a] [zone=b]`"""
    return " ".join(
        f"[{' '.join(f'{key}={value}' for key, value in sorted(segment.items()))}]"
        for segment in segments
    )


def shown_allowed(allowed: Iterable[TopologyTermSpec]) -> str:
    """`[rack in (1, 2) and zone in (a)] or [zone in (b)]`, in the order of the class."""
    terms = (
        " and ".join(f"{e.key} in ({', '.join(e.values)})" for e in term.match_label_expressions)
        for term in allowed
    )
    return " or ".join(f"[{term}]" for term in terms)
