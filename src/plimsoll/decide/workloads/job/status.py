"""How a Job's status is written, and how finished pods get into its counters."""

from dataclasses import dataclass

from plimsoll.api.meta import wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.workloads import Job, JobStatus, UncountedPods
from plimsoll.decide.statuses import condition_document
from plimsoll.decide.workloads.availability import is_active
from plimsoll.decide.workloads.job.pods import (
    format_indexes,
    index_of,
    is_failed,
    is_indexed,
    is_tracked,
    parse_indexes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Finished pods: those in the counters, and the uids of those that are on their way there.

    A uid stays in the list while its pod has the finalizer; a pod that has lost it is in the
    counter from then on. Indexes need no list: each is complete once.
    """

    counted_succeeded: int
    counted_failed: int
    listed_succeeded: tuple[str, ...]
    listed_failed: tuple[str, ...]
    completed: frozenset[int] | None
    """Indexes; None for a job without."""

    @property
    def succeeded(self) -> int:
        if self.completed is not None:
            return len(self.completed)
        return self.counted_succeeded + len(self.listed_succeeded)

    @property
    def failed(self) -> int:
        return self.counted_failed + len(self.listed_failed)

    def status_fields(self) -> JobStatus:
        if self.completed is not None:
            return JobStatus(
                succeeded=len(self.completed),
                failed=self.counted_failed,
                completed_indexes=format_indexes(self.completed),
                uncounted_terminated_pods=UncountedPods(failed=self.listed_failed),
            )
        uncounted = UncountedPods(succeeded=self.listed_succeeded, failed=self.listed_failed)
        return JobStatus(
            succeeded=self.counted_succeeded,
            failed=self.counted_failed,
            uncounted_terminated_pods=uncounted,
        )


def tally_of(job: Job, pods: tuple[Pod, ...], *, will_fail: bool) -> Tally:
    """Once a job is to fail, every pod that did not succeed counts as failed."""
    status, completions = job.status, job.spec.completions or 0
    known = status.uncounted_terminated_pods or UncountedPods()
    tracked = [pod for pod in pods if is_tracked(pod)]
    waiting = {pod.uid for pod in tracked}
    still_succeeded = tuple(uid for uid in known.succeeded if uid in waiting)
    still_failed = tuple(uid for uid in known.failed if uid in waiting)
    fresh = [pod for pod in tracked if pod.uid not in {*known.succeeded, *known.failed}]
    succeeded = [pod for pod in fresh if pod.status.phase == "Succeeded"]
    failed = [
        pod
        for pod in fresh
        if pod.status.phase != "Succeeded"
        and (is_failed(job, pod) or (will_fail and not is_active(pod)))
        and (not is_indexed(job) or _is_below(pod, completions))
    ]
    completed = None
    if is_indexed(job):
        new = {index_of(pod) for pod in succeeded if _is_below(pod, completions)}
        known_indexes = parse_indexes(status.completed_indexes, completions)
        completed = known_indexes | {index for index in new if index is not None}
    return Tally(
        counted_succeeded=status.succeeded + len(known.succeeded) - len(still_succeeded),
        counted_failed=status.failed + len(known.failed) - len(still_failed),
        listed_succeeded=(*still_succeeded, *(pod.uid for pod in succeeded)),
        listed_failed=(*still_failed, *(pod.uid for pod in failed)),
        completed=completed,
    )


def _is_below(pod: Pod, completions: int) -> bool:
    index = index_of(pod)
    return index is not None and index < completions


def status_document(status: JobStatus) -> Document:
    uncounted = status.uncounted_terminated_pods or UncountedPods()
    times = {"startTime": status.start_time, "completionTime": status.completion_time}
    document: Document = {
        "active": status.active,
        "ready": status.ready,
        "terminating": status.terminating,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "uncountedTerminatedPods": {
            "succeeded": list(uncounted.succeeded) or None,
            "failed": list(uncounted.failed) or None,
        },
        "conditions": [condition_document(condition) for condition in status.conditions],
    }
    if status.completed_indexes:
        document["completedIndexes"] = status.completed_indexes
    return document | {name: wire_time(at) for name, at in times.items() if at is not None}
