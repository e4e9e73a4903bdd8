"""What preemption says of its outcome, in kube-scheduler's words."""

from collections import Counter
from collections.abc import Iterable

from plimsoll.decide.scheduling.preemption.trial import NodeObstacle

NOT_HELPFUL = "Preemption is not helpful for scheduling"


def preemption_text(outcome: str) -> str:
    return f"preemption: {outcome}"


def no_candidate_text(obstacles: Iterable[NodeObstacle], nodes: int) -> str:
    """Of so many nodes; those without an obstacle here were not worth trying."""
    found: Counter[str] = Counter()
    tried = 0
    for obstacle in obstacles:
        tried += 1
        found.update(obstacle.judgement.sentences)
    return counted_text(found, nodes, tried)


def counted_text(found: Counter[str], nodes: int, tried: int) -> str:
    """The same, given how many nodes each sentence is about."""
    told = found + Counter({NOT_HELPFUL: nodes - tried})
    listed = sorted(f"{number} {sentence}" for sentence, number in told.items())
    return preemption_text(f"0/{nodes} nodes are available: {', '.join(listed)}.")


def not_helpful_text(nodes: int) -> str:
    """Where what speaks against the pod is no node."""
    return counted_text(Counter(), nodes, 0)


def placement_text(node: str, victims: int) -> str:
    return preemption_text(
        f"found a potential placement for pod on node {node}, preempting {victims} victims"
    )
