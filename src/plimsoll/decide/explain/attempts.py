"""What the events of the scheduler say about a pod, or that no scheduler runs.

`explain` judges by the scheduler's rules, but schedulers know more than it does: other plugins,
what they remember, what the API server answered. Where it finds nothing wrong and the scheduler
does, the scheduler's last word is passed on with its age.
"""

from collections.abc import Iterator

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.decide.explain.evidence import (
    WARNING,
    Evidence,
    count_of,
    first_seen_at,
    last_seen_at,
)
from plimsoll.decide.explain.groups import Area, Occurrences, SharedTrouble
from plimsoll.decide.explain.presence import find_stopped
from plimsoll.decide.scheduling.policy import (
    KUBE_SCHEDULER,
    KUBE_SCHEDULER_LEASE,
    find_identities,
    scheduler_of,
)
from plimsoll.decide.scheduling.reasons import Reason, SeenObject

FAILED_SCHEDULING = "FailedScheduling"


def attempt_troubles(
    pod: Pod, evidence: Evidence, *, has_candidate: bool
) -> Iterator[SharedTrouble]:
    """`has_candidate`: some node would do for the pod, so its scheduler should not have failed."""
    yield from _stopped(pod, evidence)
    if has_candidate:
        yield from _last_word(pod, evidence)


def _stopped(pod: Pod, evidence: Evidence) -> Iterator[SharedTrouble]:
    """All that are known to schedule for this name have stopped."""
    name, leases = scheduler_of(pod), evidence.believed_leases or ()
    held = [identity.lease for identity in find_identities(name, leases)]
    if name == KUBE_SCHEDULER:
        held += [lease for lease in leases if lease.key == KUBE_SCHEDULER_LEASE]
    stopped = [find_stopped(lease, evidence.now) for lease in held]
    for each in stopped[:1]:
        if each is not None and all(stopped):
            yield SharedTrouble(
                rule=Area.SCHEDULING,
                reason=Reason.SCHEDULER_STOPPED,
                sentence=f"scheduler {name} does not run: {each.sentence}",
                about=SeenObject("Lease", ObjectKey(*each.lease)),
                occurrences=Occurrences(last_at=each.last_at),
            )


def _last_word(pod: Pod, evidence: Evidence) -> Iterator[SharedTrouble]:
    event = next(evidence.events_about(pod, FAILED_SCHEDULING), None)
    if event is None or event.type != WARNING:
        return
    yield SharedTrouble(
        rule=Area.SCHEDULING,
        reason=Reason.SCHEDULING_FAILED,
        sentence=f"the scheduler said: {event.message}",
        about=SeenObject("Event", event.key),
        occurrences=Occurrences(
            count=count_of(event), first_at=first_seen_at(event), last_at=last_seen_at(event)
        ),
    )
