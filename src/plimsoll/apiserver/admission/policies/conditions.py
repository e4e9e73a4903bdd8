"""Match conditions: what a policy or a webhook wants of a request before it looks at it."""

from collections.abc import Sequence
from typing import Any

from plimsoll.apiserver.admission.policies.limits import PolicyBudget
from plimsoll.apiserver.model.custom.cel.values import MOST_STEPS, BudgetError, CelError
from plimsoll.apiserver.model.policies.compiled import PolicyExpression

CONDITION_STEPS = MOST_STEPS // 4
NO_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class ConditionsFailedError(Exception):
    """No condition is false, and some of them could not be evaluated; the message tells why."""


def conditions_hold(
    conditions: Sequence[PolicyExpression], names: dict[str, Any], budget: PolicyBudget
) -> bool:
    """Whether all are true. One that is false decides, whatever is wrong with others.

    Raises ConditionsFailedError and PolicyTimeNeededError.
    """
    meter = budget.meter(CONDITION_STEPS)
    failures: list[str] = []
    try:
        for condition in conditions:
            try:
                if condition.value(names, meter) is not True:
                    return False
            except BudgetError:
                budget.exhausted()
                raise ConditionsFailedError(NO_BUDGET) from None
            except CelError as error:
                failures.append(str(error))
    finally:
        budget.settle(meter, CONDITION_STEPS)
    if failures:
        listed = list(dict.fromkeys(failures))
        raise ConditionsFailedError(listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]")
    return True
