"""DynamicResources: claims for devices, which this scheduler does not allocate.

A pod that names such claims is refused everywhere, and told so: without its devices it could not
start anyway.
"""

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked, flags_of
from plimsoll.decide.scheduling.reasons import (
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    unresolvable,
)
from plimsoll.decide.scheduling.rule_fit import RuleFit


def judge(pod: Pod) -> Judgement:
    """Of any node."""
    if not pod.spec.resource_claims:
        return NOT_CONCERNED
    names = ", ".join(claim.name for claim in pod.spec.resource_claims)
    sentence = f"node(s) cannot be given resource claims by this scheduler ({names})"
    return unresolvable(Finding(reason=Reason.RESOURCE_CLAIM_NOT_SUPPORTED, sentence=sentence))


# All nodes at once


class DynamicResourceColumns:
    """Implements ColumnRule."""

    def __init__(self, columns: Columns) -> None:
        self._index = columns.index

    def judge(self, pod: Pod) -> RuleFit | None:
        if not pod.spec.resource_claims:
            return None
        everywhere = (Blocked.RESOURCE_CLAIMS, self._index.alive)
        return RuleFit.of_flags(flags_of([everywhere], self._index.size))
