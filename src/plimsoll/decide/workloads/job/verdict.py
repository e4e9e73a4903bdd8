"""How a Job ends: by enough successes, too many failures, or its deadline.

A verdict is written into the status as an aim (`SuccessCriteriaMet`, `FailureTarget`) and stays:
the end (`Complete`, `Failed`) follows when all pods have left.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.meta import Condition, find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.workloads import Job
from plimsoll.decide.workloads.job.pods import restarts_of

BACKOFF_LIMIT = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class JobVerdict:
    """How the job will end. `aim` stands in the status before the `end` does, while pods leave."""

    aim: str
    end: str
    reason: str
    message: str

    @property
    def is_success(self) -> bool:
        return self.end == "Complete"


def _success(reason: str, message: str) -> JobVerdict:
    return JobVerdict(aim="SuccessCriteriaMet", end="Complete", reason=reason, message=message)


def _failure(reason: str, message: str) -> JobVerdict:
    return JobVerdict(aim="FailureTarget", end="Failed", reason=reason, message=message)


REACHED = _success("CompletionsReached", "Reached expected number of succeeded pods")
OVER_LIMIT = _failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE_EXCEEDED = _failure("DeadlineExceeded", "Job was active longer than specified deadline")


def find_end(job: Job) -> Condition | None:
    """The condition by which the job has ended."""
    found = (find_condition(job.status.conditions, end) for end in ("Complete", "Failed"))
    return next((condition for condition in found if condition and condition.holds), None)


def find_recorded_verdict(conditions: tuple[Condition, ...]) -> JobVerdict | None:
    for make, aim in ((_success, "SuccessCriteriaMet"), (_failure, "FailureTarget")):
        known = find_condition(conditions, aim)
        if known is not None and known.holds:
            return make(known.reason, known.message)
    return None


def is_over_limit(job: Job, pods: Iterable[Pod], failed: int) -> bool:
    """Whether pods failed too often; with `OnFailure`, restarts of containers count as well."""
    limit = BACKOFF_LIMIT if job.spec.backoff_limit is None else job.spec.backoff_limit
    restarts = 0
    if (job.spec.template.get("spec") or {}).get("restartPolicy") == "OnFailure":
        restarts = restarts_of(pods)
    return failed > limit or restarts >= max(limit, 1)


def time_to_deadline(job: Job, started_at: datetime | None, now: datetime) -> timedelta | None:
    """None: no deadline counts at this moment."""
    seconds = job.spec.active_deadline_seconds
    if seconds is None or job.spec.suspend or started_at is None:
        return None
    return started_at + timedelta(seconds=seconds) - now
