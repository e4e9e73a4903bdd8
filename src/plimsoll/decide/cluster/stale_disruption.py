"""Pods that were to be disrupted and were not: their DisruptionTarget condition is taken back.

Whatever evicts a pod marks it first and deletes it then. If it stops in between, the mark would
make a later failure of the pod look like a disruption, which jobs do not count as a failure.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.meta import Condition, find_condition
from plimsoll.api.pods import Pod
from plimsoll.decide.cluster.lost_nodes import DISRUPTION
from plimsoll.decide.plan import NOTHING, Plan
from plimsoll.decide.statuses import status_patch, with_conditions
from plimsoll.decide.workloads.owned import POD

DELETED_WITHIN = timedelta(minutes=2)
"""A marked pod that is not being deleted by then will not be."""
BY_KUBELET = "TerminationByKubelet"
"""A kubelet may take long between the mark and the end."""


class StaleDisruptionReason(StrEnum):
    STALE = "StaleDisruption"
    """The pod was marked as about to be disrupted, and two minutes later nothing had deleted it."""


def decide_stale_disruption(pod: Pod, now: datetime) -> Plan:
    marked = find_condition(pod.status.conditions, DISRUPTION)
    if marked is None or not marked.holds or marked.reason == BY_KUBELET:
        return NOTHING
    if pod.is_being_deleted or pod.is_finished:
        return NOTHING
    left = (marked.last_transition_time or now) + DELETED_WITHIN - now
    if left > timedelta(0):
        return Plan(reason=StaleDisruptionReason.STALE, recheck_after=left)
    cleared = Condition(
        type=DISRUPTION,
        status="False",
        observed_generation=marked.observed_generation,
        last_transition_time=now,
    )
    conditions = with_conditions(pod.status.conditions, [cleared])
    return Plan(
        reason=StaleDisruptionReason.STALE,
        writes=(status_patch(POD.resource, pod, {"conditions": conditions}),),
    )
