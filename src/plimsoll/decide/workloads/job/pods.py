"""The pods of a Job: how they are made, which of them failed, how long to wait for the next.

Indexes of completions are written as Kubernetes writes them: `0,2-5`.
"""

from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime, timedelta

from plimsoll.api.meta import find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.workloads import Job
from plimsoll.decide.plan import Patch
from plimsoll.decide.resources import PODS
from plimsoll.decide.workloads.owned import JOB, controller_reference
from plimsoll.decide.workloads.pod_template import GENERATED_LIMIT, named, pod_from_template

FINALIZER = "batch.kubernetes.io/job-tracking"
"""Keeps a finished pod until it is counted."""
INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
FIRST_PAUSE = timedelta(seconds=10)
LONGEST_PAUSE = timedelta(minutes=10)
MOST_DOUBLINGS = 10
LONG_AGO = datetime.min.replace(tzinfo=UTC)


def is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def is_tracked(pod: Pod) -> bool:
    return FINALIZER in pod.metadata.finalizers


def is_failed(job: Job, pod: Pod) -> bool:
    """One that is being deleted has no chance to succeed any more, unless its end is waited for."""
    if pod.status.phase == "Failed":
        return True
    waits = job.spec.pod_replacement_policy == "Failed"
    return not waits and pod.is_being_deleted and pod.status.phase != "Succeeded"


def index_of(pod: Pod) -> int | None:
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def parse_indexes(text: str, completions: int) -> frozenset[int]:
    """What makes no sense is left out, as is what is beyond the completions."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return frozenset(index for index in found if index < completions)


def format_indexes(indexes: Iterable[int]) -> str:
    """Three in a row and more become a range."""
    parts: list[str] = []
    row: list[int] = []
    for index in [*sorted(indexes), None]:
        if row and index != row[-1] + 1:
            ends = [row[0], row[-1]] if len(row) > 1 else row
            parts.append(("-" if len(row) > 2 else ",").join(map(str, ends)))  # noqa: PLR2004 - two are listed, not a range
            row = []
        if index is not None:
            row.append(index)
    return ",".join(parts)


def without_finalizer(pod: Pod) -> Patch:
    others = [name for name in pod.metadata.finalizers if name != FINALIZER]
    return _finalizers_patch(pod, others)


def with_finalizer(pod: Pod) -> Patch:
    return _finalizers_patch(pod, [*pod.metadata.finalizers, FINALIZER])


def _finalizers_patch(pod: Pod, finalizers: list[str]) -> Patch:
    return Patch(
        resource=PODS,
        key=pod.key,
        patch={"metadata": {"finalizers": finalizers}},
        version=pod.metadata.resource_version,
        uid=pod.uid,
    )


def pod_document(job: Job, suffix: str, index: int | None) -> Document:
    pod = pod_from_template(job.spec.template, job.namespace, controller_reference(JOB, job))
    metadata = pod["metadata"]
    metadata["finalizers"] = [*metadata.get("finalizers", ()), FINALIZER]
    if index is None:
        return named(pod, f"{job.name}-", suffix)
    metadata["annotations"][INDEX] = metadata["labels"][INDEX] = str(index)
    pod["spec"]["hostname"] = f"{job.name}-{index}"
    for kind in ("initContainers", "containers"):
        containers = pod["spec"].get(kind) or []
        pod["spec"][kind] = [_told_its_index(container) for container in containers]
    ending = f"-{index}-"
    return named(pod, job.name[: GENERATED_LIMIT - len(ending)] + ending, suffix)


def _told_its_index(container: Document) -> Document:
    variables = container.get("env") or []
    if any(variable.get("name") == INDEX_VARIABLE for variable in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    told = deepcopy(container)
    told["env"] = [*variables, {"name": INDEX_VARIABLE, "valueFrom": source}]
    return told


def finished_at(pod: Pod) -> datetime:
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    deleted_at = pod.metadata.deletion_timestamp
    if deleted_at is not None:
        grace = timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
        return deleted_at - grace
    return pod.metadata.creation_timestamp or LONG_AGO


def pause_left(job: Job, pods: Iterable[Pod], now: datetime) -> timedelta:
    """Every failure since the last success doubles the pause before the next pod."""
    pods = list(pods)
    successes = [finished_at(pod) for pod in pods if pod.status.phase == "Succeeded"]
    failures = [finished_at(pod) for pod in pods if _has_failed(job, pod)]
    since = max(successes, default=LONG_AGO)
    recent = [at for at in failures if at > since]
    if not recent:
        return timedelta()
    doublings = min(len(recent) - 1, MOST_DOUBLINGS)
    pause = min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)
    return max(max(recent) + pause - now, timedelta())


def _has_failed(job: Job, pod: Pod) -> bool:
    """By itself: one without the finalizer was deleted because it was not needed."""
    return pod.status.phase == "Failed" or (is_tracked(pod) and is_failed(job, pod))


def restarts_of(pods: Iterable[Pod]) -> int:
    return sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
