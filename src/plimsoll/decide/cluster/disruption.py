"""How many of a budget's pods may be evicted now: the status of a PodDisruptionBudget.

The eviction API goes by this status. It writes the pods that it evicts into `disruptedPods` until
they are seen to be leaving. When the number of pods that should be there cannot be found out, no
pod may be evicted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.meta import Condition, ObjectKey, OwnerReference, find_condition, wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.policy import DisruptionBudgetStatus, PodDisruptionBudget
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from plimsoll.decide.plan import NOTHING, Emit, Plan, ResourceName, Write
from plimsoll.decide.statuses import condition_document, status_patch
from plimsoll.decide.workloads.availability import share_of
from plimsoll.decide.workloads.owned import (
    DEPLOYMENT,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    Workload,
    told,
    warned,
)

BUDGET = Workload(
    api_version="policy/v1",
    kind="PodDisruptionBudget",
    resource=ResourceName("policy", "v1", "poddisruptionbudgets"),
)
REPLICATION_CONTROLLER = Workload(
    api_version="v1",
    kind="ReplicationController",
    resource=ResourceName("", "v1", "replicationcontrollers"),
)
DELETION_EXPECTED_WITHIN = timedelta(minutes=2)
"""An evicted pod that is not seen to be leaving by then counts as there again."""
ALLOWED = "DisruptionAllowed"
NO_PODS, UNMANAGED_PODS = "NoPods", "UnmanagedPods"
COUNT_FAILED, NOT_DELETED = "CalculateExpectedPodCountFailed", "NotDeleted"


class DisruptionReason(StrEnum):
    SUFFICIENT = "SufficientPods"
    """More pods are healthy than have to be: some may be evicted."""
    INSUFFICIENT = "InsufficientPods"
    """No pod may be evicted now."""
    FAILED = "SyncFailed"
    """It cannot be told how many pods there should be, so none may be evicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers:
    """What pods can belong to and has a number of replicas."""

    deployments: Mapping[ObjectKey, Deployment]
    replica_sets: Mapping[ObjectKey, ReplicaSet]
    stateful_sets: Mapping[ObjectKey, StatefulSet]
    replication_controllers: Mapping[ObjectKey, ReplicationController]


@dataclass(frozen=True, slots=True)
class Scale:
    uid: str
    replicas: int


@dataclass(frozen=True, slots=True)
class Uncountable:
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    expected: int
    desired_healthy: int
    unmanaged: tuple[str, ...] = ()
    """Names of pods that belong to no controller."""


def decide_budget(
    budget: PodDisruptionBudget, pods: Iterable[Pod], controllers: Controllers, now: datetime
) -> Plan:
    """`pods` are those that the budget selects."""
    pods = sorted(pods, key=lambda pod: pod.name)
    events: list[Emit] = []
    if not pods:
        events.append(told(BUDGET, budget, NO_PODS, "No matching pods found"))
    expectation = expectation_of(budget, pods, controllers)
    if isinstance(expectation, Uncountable):
        problem = f"Failed to calculate the number of expected pods: {expectation.why}"
        events.append(warned(BUDGET, budget, COUNT_FAILED, problem))
        return _written(budget, _failed(budget, expectation.why, now), events)
    if expectation.unmanaged:
        events.append(_unmanaged(budget, expectation.unmanaged))
    awaited, overdue = _disrupted(budget, pods, now)
    events += [_not_deleted(budget, pod) for pod in overdue]
    status = _status(budget, pods, expectation, awaited)
    after = _written(budget, _with_condition(budget, status, now), events)
    rest = [at + DELETION_EXPECTED_WITHIN - now for at in awaited.values()]
    return Plan(
        reason=after.reason,
        writes=after.writes,
        recheck_after=min(rest) + timedelta(seconds=1) if rest else None,
    )


# How many pods there should be


def expectation_of(
    budget: PodDisruptionBudget, pods: Iterable[Pod], controllers: Controllers
) -> Expectation | Uncountable:
    """Of `minAvailable` as a number the pods themselves are counted; else what they should be."""
    spec, pods = budget.spec, list(pods)
    if spec.max_unavailable is None and not isinstance(spec.min_available, str):
        return Expectation(expected=len(pods), desired_healthy=spec.min_available or 0)
    scale = _expected_scale(pods, controllers)
    if isinstance(scale, Uncountable):
        return scale
    unmanaged = tuple(pod.name for pod in pods if pod.metadata.controller is None)
    if spec.max_unavailable is not None:
        desired = scale - share_of(scale, spec.max_unavailable, round_up=True)
    else:
        desired = share_of(scale, spec.min_available, round_up=True)
    return Expectation(expected=scale, desired_healthy=max(desired, 0), unmanaged=unmanaged)


def _expected_scale(pods: Iterable[Pod], controllers: Controllers) -> int | Uncountable:
    replicas: dict[str, int] = {}
    for pod in pods:
        reference = pod.metadata.controller
        if reference is None:
            continue
        scale = _scale_of(reference, pod, controllers)
        if isinstance(scale, Uncountable):
            return scale
        replicas[scale.uid] = scale.replicas
    return sum(replicas.values())


def _scale_of(reference: OwnerReference, pod: Pod, controllers: Controllers) -> Scale | Uncountable:
    """Of a pod's controller; of the Deployment, for a ReplicaSet that belongs to one."""
    key = ObjectKey(pod.namespace, reference.name)
    kinds = (
        (REPLICATION_CONTROLLER, controllers.replication_controllers),
        (REPLICA_SET, controllers.replica_sets),
        (STATEFUL_SET, controllers.stateful_sets),
    )
    for workload, known in kinds:
        if workload.owns(reference):
            found = known.get(key)
            if found is None or found.uid != reference.uid:
                break
            owner = found.metadata.controller if workload is REPLICA_SET else None
            if owner is None or not DEPLOYMENT.owns(owner):
                return Scale(found.uid, _replicas(found.spec.replicas))
            deployment = controllers.deployments.get(ObjectKey(pod.namespace, owner.name))
            if deployment is None or deployment.uid != owner.uid:
                break
            return Scale(deployment.uid, _replicas(deployment.spec.replicas))
    else:
        return Uncountable(f"{_resource_name(reference)} does not implement the scale subresource")
    return Uncountable(f'found no controllers for pod "{pod.name}"')


def _replicas(number: int | None) -> int:
    return 1 if number is None else number


def _resource_name(reference: OwnerReference) -> str:
    group, _, version = reference.api_version.rpartition("/")
    known = resources_by_kind().get((group, version, reference.kind))
    plural = known.plural if known is not None else reference.kind.lower()
    return f"{plural}.{group}" if group else plural


# How many pods there are


def _disrupted(
    budget: PodDisruptionBudget, pods: Iterable[Pod], now: datetime
) -> tuple[dict[str, datetime], list[Pod]]:
    """Evicted pods that are still to be seen leaving, and those that should have been by now."""
    awaited: dict[str, datetime] = {}
    overdue: list[Pod] = []
    for pod in pods:
        at = budget.status.disrupted_pods.get(pod.name)
        if at is None or pod.is_being_deleted:
            continue
        if at + DELETION_EXPECTED_WITHIN < now:
            overdue.append(pod)
        else:
            awaited[pod.name] = at
    return awaited, overdue


def _status(
    budget: PodDisruptionBudget,
    pods: Iterable[Pod],
    expectation: Expectation,
    awaited: Mapping[str, datetime],
) -> DisruptionBudgetStatus:
    healthy = sum(
        pod.is_ready and not pod.is_being_deleted and pod.name not in awaited for pod in pods
    )
    allowed = healthy - expectation.desired_healthy if expectation.expected > 0 else 0
    return DisruptionBudgetStatus(
        current_healthy=healthy,
        desired_healthy=expectation.desired_healthy,
        expected_pods=expectation.expected,
        disruptions_allowed=max(allowed, 0),
        disrupted_pods=awaited,
        observed_generation=budget.metadata.generation,
    )


# What is written


def _with_condition(
    budget: PodDisruptionBudget, status: DisruptionBudgetStatus, now: datetime
) -> Document:
    state = (
        DisruptionReason.SUFFICIENT if status.disruptions_allowed else DisruptionReason.INSUFFICIENT
    )
    gone = set(budget.status.disrupted_pods) - set(status.disrupted_pods)
    disrupted = {n: wire_time(at) for n, at in status.disrupted_pods.items() if at is not None}
    return {
        "currentHealthy": status.current_healthy,
        "desiredHealthy": status.desired_healthy,
        "expectedPods": status.expected_pods,
        "disruptionsAllowed": status.disruptions_allowed,
        "disruptedPods": disrupted | dict.fromkeys(sorted(gone)) or None,
        "observedGeneration": status.observed_generation,
        "conditions": _conditions(budget, state, "", now),
    }


def _failed(budget: PodDisruptionBudget, why: str, now: datetime) -> Document:
    conditions = _conditions(budget, DisruptionReason.FAILED, why, now)
    return {"disruptionsAllowed": 0, "conditions": conditions}


def _conditions(
    budget: PodDisruptionBudget, state: DisruptionReason, message: str, now: datetime
) -> list[Document]:
    status = "True" if state is DisruptionReason.SUFFICIENT else "False"
    before = find_condition(budget.status.conditions, ALLOWED)
    is_same = before is not None and before.status == status
    generation = (
        budget.status.observed_generation
        if state is DisruptionReason.FAILED
        else budget.metadata.generation
    )
    changed = Condition(
        type=ALLOWED,
        status=status,
        reason=state,
        observed_generation=generation,
        last_transition_time=before.last_transition_time if before and is_same else now,
    )
    others = [c for c in budget.status.conditions if c.type != ALLOWED]
    documents = [condition_document(condition) for condition in (*others, changed)]
    return [{"message": ""} | each for each in documents[:-1]] + [
        documents[-1] | {"message": message}
    ]


def _written(budget: PodDisruptionBudget, status: Document, events: list[Emit]) -> Plan:
    """The status is written only if it says something new."""
    reason: str = status["conditions"][-1]["reason"]
    writes: list[Write] = list(events)
    if not _says_already(budget, status):
        writes.insert(0, status_patch(BUDGET.resource, budget, status))
    return Plan(reason=reason, writes=tuple(writes)) if writes else NOTHING


def _says_already(budget: PodDisruptionBudget, status: Document) -> bool:
    before = budget.status
    known: Document = {
        "currentHealthy": before.current_healthy,
        "desiredHealthy": before.desired_healthy,
        "expectedPods": before.expected_pods,
        "disruptionsAllowed": before.disruptions_allowed,
        "disruptedPods": {n: wire_time(at) for n, at in before.disrupted_pods.items() if at}
        or None,
        "observedGeneration": before.observed_generation,
        "conditions": [{"message": ""} | condition_document(c) for c in before.conditions],
    }
    return all(known[name] == value for name, value in status.items())


def _unmanaged(budget: PodDisruptionBudget, names: tuple[str, ...]) -> Emit:
    message = (
        f"Pods selected by this PodDisruptionBudget ({', '.join(names)}) were found to be "
        "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may "
        'result in undefined behavior. To account for these pods please set ".spec.minAvailable" '
        "field of the PDB to an integer value."
    )
    return warned(BUDGET, budget, UNMANAGED_PODS, message)


def _not_deleted(budget: PodDisruptionBudget, pod: Pod) -> Emit:
    message = f"Pod was expected by PDB {budget.key} to be deleted but it wasn't"
    return warned(POD, pod, NOT_DELETED, message)
