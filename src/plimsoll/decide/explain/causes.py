"""Which of several findings is the cause, and which only follows from it.

The order is a table, not a judgement of the case: what a user has to mend first stands first. A
claim whose class does not exist is also unbound; that it is unbound is no news.
"""

from collections.abc import Iterable

from plimsoll.decide.explain.groups import SharedTrouble
from plimsoll.decide.scheduling.reasons import Reason

ORDER: tuple[tuple[Reason, ...], ...] = (
    # What the pod names is not there, or is leaving.
    (
        Reason.CLAIM_NOT_FOUND,
        Reason.CLAIM_NOT_OWNED,
        Reason.CLAIM_LOST,
        Reason.CLAIM_DELETING,
        Reason.VOLUME_NOT_FOUND,
    ),
    # What the claim names is not there, or makes no sense.
    (
        Reason.CLASS_NOT_FOUND,
        Reason.CLASS_WITHOUT_BINDING_MODE,
        Reason.CLAIM_IS_INVALID,
        Reason.VOLUME_NOT_TRANSLATABLE,
        Reason.DATA_SOURCE_NOT_FOUND,
        Reason.DATA_SOURCE_NOT_READY,
    ),
    # The node that was chosen is not there, or does nothing.
    (Reason.NODE_GONE, Reason.NODE_NOT_FOUND, Reason.NODE_NOT_READY),
    # The process that should act does not run.
    (Reason.SCHEDULER_STOPPED, Reason.PROVISIONER_STOPPED),
    # It runs, and does not succeed.
    (Reason.PROVISIONER_REFUSED, Reason.PROVISIONING_FAILED),
    (Reason.PROVISIONING_OVERDUE,),
    (Reason.MOUNT_FAILED,),
    # Numbers that cannot be believed come before what is concluded from them.
    (Reason.CAPACITY_STALE,),
)
"""The rest, which speaks about single nodes, comes next; then what only follows from others."""

CONSEQUENCES = (
    Reason.UNBOUND_IMMEDIATE_CLAIM,
    Reason.SELECTED_ELSEWHERE,
    Reason.BINDING_TIMED_OUT,
    Reason.SCHEDULING_FAILED,
    Reason.PODS_MISSING,
)

RANKS = {
    **{reason: (tier, place) for tier, r in enumerate(ORDER) for place, reason in enumerate(r)},
    **{reason: (len(ORDER) + 1, place) for place, reason in enumerate(CONSEQUENCES)},
}
BETWEEN = (len(ORDER), 0)


def rank(reason: Reason) -> tuple[int, int]:
    """The smaller, the nearer to the cause."""
    return RANKS.get(reason, BETWEEN)


def causes_first(found: Iterable[SharedTrouble]) -> tuple[SharedTrouble, ...]:
    """Of one rank the order is kept."""
    return tuple(sorted(found, key=lambda trouble: rank(trouble.reason)))
