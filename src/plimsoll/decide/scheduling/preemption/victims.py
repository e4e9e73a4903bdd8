"""Who must leave one node so that a pod can go there.

At first every pod with a lower priority leaves in thought. Then they come back one by one, the most
important first, as long as there is room for the waiting pod; those that a PodDisruptionBudget
protects are asked before the others. A pod that cannot come back is a victim.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.pods.budgets import DisruptionBudgets
from plimsoll.decide.scheduling.preemption.trial import NodeObstacle, NodeTrial
from plimsoll.decide.scheduling.reasons import Finding, Judgement, Reason, Verdict

NO_VICTIMS_SENTENCE = "No preemption victims found for incoming pod"
NOT_STARTED = datetime.max.replace(tzinfo=UTC)
"""A pod that has not started is less important than all that have."""
NO_VICTIMS = NodeObstacle(
    None,
    Judgement(
        Verdict.UNRESOLVABLE,
        (Finding(reason=Reason.INSUFFICIENT_RESOURCE, sentence=NO_VICTIMS_SENTENCE),),
    ),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that the pod can go to when the victims have left."""

    node: str
    victims: tuple[Pod, ...]
    """The most important first."""
    violations: int
    """How many of them a PodDisruptionBudget protects."""


def started_at(pod: Pod) -> datetime:
    return pod.status.start_time or NOT_STARTED


def by_importance(pods: Iterable[Pod]) -> list[Pod]:
    """The most important first: by priority, then the one that has run longest. Equal ones stay in
    their order."""
    return sorted(pods, key=lambda pod: (-pod.priority, started_at(pod)))


def pods_below(priority: int, others: Iterable[Pod]) -> list[Pod]:
    """Those that may be evicted for a pod with the priority, the most important first."""
    return by_importance(each for each in others if each.priority < priority)


def in_turn_of_return(
    lower: Sequence[Pod], budgets: DisruptionBudgets
) -> tuple[list[Pod], set[ObjectKey]]:
    """Pods in the order in which they are asked to come back, and the protected ones."""
    protected = budgets.violated_by(lower)
    if not protected:
        return [*lower], protected
    return sorted(lower, key=lambda pod: pod.key not in protected), protected


def find_victims(trial: NodeTrial, budgets: DisruptionBudgets) -> Candidate | NodeObstacle:
    """Or why the pod cannot go there even so."""
    lower = pods_below(trial.waiting.pod.priority, trial.others.values())
    if not lower:
        return NO_VICTIMS
    for pod in lower:
        trial = trial.without(pod)
    if obstacle := trial.find_obstacle():
        return obstacle
    asked, protected = in_turn_of_return(lower, budgets)
    for pod in asked:
        returned = trial.with_pod(pod)
        if returned.find_obstacle() is None:
            trial = returned
    victims = tuple(pod for pod in lower if pod.key not in trial.others)
    violations = sum(pod.key in protected for pod in victims)
    return Candidate(trial.node.name, victims, violations)
