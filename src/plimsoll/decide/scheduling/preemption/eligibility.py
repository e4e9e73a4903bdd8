"""Whether a pod may have others evicted at all."""

from collections.abc import Iterable
from enum import StrEnum

from plimsoll.api.meta import find_condition
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.reasons import Verdict

NEVER = "Never"
DISRUPTION_TARGET = "DisruptionTarget"
BY_SCHEDULER = "PreemptionByScheduler"


class NotEligible(StrEnum):
    """Why it may not, as kube-scheduler puts it."""

    POLICY = "not eligible due to preemptionPolicy=Never."
    VICTIMS_LEAVING = "not eligible due to a terminating pod on the nominated node."


def find_ineligibility(
    pod: Pod, nominated: Verdict | None, on_nominated: Iterable[Pod]
) -> NotEligible | None:
    """`nominated` is what the rules say of the pod's nominated node, and the pods are those that
    are on it; None: it has no such node."""
    if pod.spec.preemption_policy == NEVER:
        return NotEligible.POLICY
    if nominated is None or nominated is Verdict.UNRESOLVABLE:
        return None
    # Its victims are still leaving: others would be evicted for nothing.
    if any(each.priority < pod.priority and _is_leaving(each) for each in on_nominated):
        return NotEligible.VICTIMS_LEAVING
    return None


def _is_leaving(victim: Pod) -> bool:
    """Evicted by a scheduler, and still there."""
    told = find_condition(victim.status.conditions, DISRUPTION_TARGET)
    is_preempted = told is not None and told.holds and told.reason == BY_SCHEDULER
    return victim.is_being_deleted and is_preempted
