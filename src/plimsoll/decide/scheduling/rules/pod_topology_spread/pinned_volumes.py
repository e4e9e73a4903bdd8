"""Pods whose volumes are in one place while spreading asks for another: said as a pair.

Neither of the two is wrong by itself, and no count of nodes tells that they exclude each other: the
nodes that reach the volumes are too full of such pods, and the others do not reach them.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.explanation import Explanation
from plimsoll.decide.scheduling.flags import Blocked, Flags
from plimsoll.decide.scheduling.reasons import Finding, Reason
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import HOSTNAME
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import ZONE
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import SpreadState, skew_on

BOUND = Blocked.BOUND_AFFINITY | Blocked.ZONE
NO_CAPACITY = (
    Blocked.DELAYED_NO_SEGMENT
    | Blocked.DELAYED_UNPUBLISHED
    | Blocked.DELAYED_ZERO
    | Blocked.DELAYED_TOO_SMALL
    | Blocked.DELAYED_TOGETHER
    | Blocked.DELAYED_RESERVED
)
NO_CANDIDATE = (
    Blocked.NO_NODE
    | Blocked.NODE_NAME
    | Blocked.UNSCHEDULABLE
    | Blocked.TAINT
    | Blocked.NODE_AFFINITY
)
BOUND_REASONS = (Reason.VOLUME_AFFINITY_CONFLICT, Reason.VOLUME_ZONE_CONFLICT)
CAPACITY_REASONS = (
    Reason.NO_CAPACITY_PUBLISHED,
    Reason.TOPOLOGY_KEY_MISSING,
    Reason.CAPACITY_ZERO,
    Reason.CAPACITY_TOO_SMALL,
    Reason.CAPACITY_RESERVED,
    Reason.CLAIMS_DO_NOT_FIT_TOGETHER,
)
WORDS = {ZONE: "zone", HOSTNAME: "node", "topology.kubernetes.io/region": "region"}
MOST_SHOWN = 3

ExplainNode = Callable[[str], Explanation]


def pinned_and_spread(
    state: SpreadState, flags: Flags, columns: Columns, explain_node: ExplainNode
) -> Iterator[str]:
    """A part of a sentence, if each node that could be a candidate is refused by the volumes or by
    spreading, and some by only one of the two. Flags are by slot, and no node will do."""
    # Slots that no node has may have flags, too.
    is_candidate = np.zeros(len(flags), np.bool_)
    is_candidate[columns.index.by_name] = True
    is_candidate &= (flags & np.uint64(NO_CANDIDATE)) == 0
    is_spread = (flags & np.uint64(Blocked.SPREAD)) != 0
    is_held = (flags & np.uint64(BOUND | NO_CAPACITY)) != 0
    near, far = is_candidate & ~is_held & is_spread, is_candidate & is_held & ~is_spread
    if not near.any() or not far.any() or (is_candidate & ~is_held & ~is_spread).any():
        return
    nodes = [*_nodes(near, columns)]
    key = _broken_key(state, nodes)
    claims = _held_claims(explain_node(columns.index.names[int(np.flatnonzero(far)[0])]))
    if key and claims:
        yield _sentence(claims, key, sorted({node.labels[key] for node in nodes}))


def _nodes(mask: NDArray[np.bool_], columns: Columns) -> Iterator[Node]:
    for slot in np.flatnonzero(mask).tolist():
        if node := columns.node(columns.index.names[slot]):
            yield node


def _broken_key(state: SpreadState, nodes: Iterable[Node]) -> str:
    """The first label by which any of the nodes has too many pods; empty: none."""
    labelled = [*nodes]
    for constraint, domains in zip(state.constraints, state.domains, strict=True):
        if any(
            skew_on(node, constraint, domains, state.pod) > constraint.max_skew for node in labelled
        ):
            return constraint.topology_key
    return ""


def _held_claims(explanation: Explanation) -> dict[str, str]:
    """By name of the claim, what ties it to a place."""
    found = {_name(each): "is bound to" for each in _of(explanation, BOUND_REASONS)}
    room = {_name(each): "has room only in" for each in _of(explanation, CAPACITY_REASONS)}
    return {name: tie for name, tie in (room | found).items() if name}


def _of(explanation: Explanation, reasons: Iterable[Reason]) -> Iterator[Finding]:
    wanted = {*reasons}
    return (finding for finding in explanation.findings if finding.reason in wanted)


def _name(finding: Finding) -> str:
    if finding.claim is not None:
        return f"claim {finding.claim.name}"
    return f"volume {finding.about.key.name}" if finding.about else ""


def _sentence(claims: dict[str, str], key: str, values: list[str]) -> str:
    word = WORDS.get(key, key)
    shown = ", ".join(values[:MOST_SHOWN])
    if len(values) > MOST_SHOWN:
        shown += f" and {len(values) - MOST_SHOWN} more"
    tied = " and ".join(f"{claim} {tie} {word} {shown}" for claim, tie in claims.items())
    return f"{tied}; spreading by {key} asks for another {word} than {shown}"
