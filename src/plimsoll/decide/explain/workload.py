"""The pods of a workload, those with the same answer together, and why pods are missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plimsoll.api.core import Event
from plimsoll.api.meta import ApiObject, Condition
from plimsoll.api.pods import Pod
from plimsoll.api.workloads import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet
from plimsoll.decide.explain.causes import causes_first
from plimsoll.decide.explain.evidence import (
    WARNING,
    Evidence,
    count_of,
    first_seen_at,
    last_seen_at,
    newest_by_message,
)
from plimsoll.decide.explain.groups import Area, Occurrences, SharedTrouble
from plimsoll.decide.explain.pod import PodExplanation
from plimsoll.decide.scheduling.reasons import Reason, SeenObject

Workload = Deployment | StatefulSet | Job | DaemonSet | ReplicaSet
NOT_MADE = ("FailedCreate", "SelectorError", "UnsupportedField")
PARALLEL = "Parallel"
FAILING = {"ReplicaFailure": "True", "Progressing": "False", "Failed": "True", "Suspended": "True"}
"""Conditions that say why pods are missing, and what they are then."""


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods whose explanations differ in names and ages only."""

    pods: tuple[str, ...]
    example: PodExplanation


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadExplanation:
    workload: Workload
    message: str
    wanted: int
    pods: int
    findings: tuple[SharedTrouble, ...]
    groups: tuple[PodGroup, ...]
    """Those with something wrong first."""

    @property
    def is_well(self) -> bool:
        return not self.findings and all(group.example.is_well for group in self.groups)


def explain_workload(
    workload: Workload,
    explained: Sequence[PodExplanation],
    owners: Iterable[ApiObject],
    evidence: Evidence,
) -> WorkloadExplanation:
    """`owners` are the objects that own its pods: its replica sets, or itself."""
    wanted = _wanted(workload, len(explained))
    findings: tuple[SharedTrouble, ...] = ()
    if len(explained) < wanted and not _takes_turns(workload, explained):
        findings = causes_first(_missing(workload, owners, evidence)) or (
            _unexplained(workload, wanted, len(explained)),
        )
    well = sum(each.is_well for each in explained)
    return WorkloadExplanation(
        workload=workload,
        message=f"{wanted} pods wanted, {len(explained)} there, {well} without anything wrong.",
        wanted=wanted,
        pods=len(explained),
        findings=findings,
        groups=folded(explained),
    )


def _takes_turns(workload: Workload, explained: Sequence[PodExplanation]) -> bool:
    """The next pod is made when those that are there are ready: their answers tell it all."""
    is_ordered = (
        isinstance(workload, StatefulSet) and workload.spec.pod_management_policy != PARALLEL
    )
    return is_ordered and any(not each.pod.is_ready for each in explained)


def kind_of(workload: Workload) -> str:
    return type(workload).__name__


def pods_of(owners: Iterable[ApiObject], pods: Iterable[Pod]) -> list[Pod]:
    """Those that an owner manages, by name."""
    uids = {owner.uid for owner in owners}
    found = [pod for pod in pods if (own := pod.metadata.controller) and own.uid in uids]
    return sorted(found, key=lambda pod: (len(pod.name), pod.name))


def folded(explained: Iterable[PodExplanation]) -> tuple[PodGroup, ...]:
    groups: dict[tuple[object, ...], list[PodExplanation]] = {}
    for each in explained:
        groups.setdefault(_answer(each), []).append(each)
    found = [PodGroup(tuple(e.pod.name for e in group), group[0]) for group in groups.values()]
    return tuple(sorted(found, key=lambda group: group.example.is_well))


def _answer(explained: PodExplanation) -> tuple[object, ...]:
    """What is said of the pod, without its own name and those of its claims."""
    names = [explained.pod.name, *(claim.key.name for claim in explained.claims)]
    troubles = (*explained.findings, *explained.everywhere)
    return (
        explained.state,
        _without(names, explained.message),
        tuple((trouble.reason, _without(names, trouble.sentence)) for trouble in troubles),
        tuple((g.nodes, tuple(t.reason for t in g.troubles)) for g in explained.groups),
    )


def _without(names: Iterable[str], text: str) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "*")
    return text


def _wanted(workload: Workload, there: int) -> int:
    match workload:
        case Job() if _is_over(workload):
            return 0
        case Job():
            left = (workload.spec.completions or 1) - workload.status.succeeded
            parallel = workload.spec.parallelism
            return max(min(1 if parallel is None else parallel, left), 0)
        case DaemonSet():
            return workload.status.desired_number_scheduled or there
        case _:
            return 1 if workload.spec.replicas is None else workload.spec.replicas


def _is_over(job: Job) -> bool:
    return any(c.type == "Complete" and c.holds for c in job.status.conditions)


def _missing(
    workload: Workload, owners: Iterable[ApiObject], evidence: Evidence
) -> Iterator[SharedTrouble]:
    for condition in _conditions(workload):
        if FAILING.get(condition.type) == condition.status:
            said = condition.message or condition.reason or condition.type
            seen = Occurrences(last_at=condition.last_transition_time)
            yield _trouble(workload, f"{condition.type}={condition.status}: {said}", seen)
    for owner in {each.uid: each for each in (workload, *owners)}.values():
        events = (e for e in evidence.events_about(owner, *NOT_MADE) if e.type == WARNING)
        for event in newest_by_message(events):
            yield _trouble(
                workload, event.message, _occurrences(event), SeenObject("Event", event.key)
            )


def _conditions(workload: Workload) -> tuple[Condition, ...]:
    match workload:
        case DaemonSet():
            return ()
        case _:
            return workload.status.conditions


def _occurrences(event: Event) -> Occurrences:
    return Occurrences(
        count=count_of(event), first_at=first_seen_at(event), last_at=last_seen_at(event)
    )


def _unexplained(workload: Workload, wanted: int, there: int) -> SharedTrouble:
    sentence = f"{there} of {wanted} pods were made, and no condition or event says why"
    return _trouble(workload, sentence)


def _trouble(
    workload: Workload,
    sentence: str,
    occurrences: Occurrences | None = None,
    about: SeenObject | None = None,
) -> SharedTrouble:
    return SharedTrouble(
        rule=Area.WORKLOAD,
        reason=Reason.PODS_MISSING,
        sentence=sentence,
        about=about or SeenObject(kind_of(workload), workload.key),
        occurrences=occurrences,
    )


KINDS: Mapping[str, type[Workload]] = {
    "deploy": Deployment,
    "deployment": Deployment,
    "deployments": Deployment,
    "sts": StatefulSet,
    "statefulset": StatefulSet,
    "statefulsets": StatefulSet,
    "job": Job,
    "jobs": Job,
    "ds": DaemonSet,
    "daemonset": DaemonSet,
    "daemonsets": DaemonSet,
    "rs": ReplicaSet,
    "replicaset": ReplicaSet,
    "replicasets": ReplicaSet,
}
"""By the names that kubectl takes."""
