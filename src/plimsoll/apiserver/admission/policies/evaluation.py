"""One policy with one set of parameters: what its conditions and validations say of a request."""

from dataclasses import dataclass, field
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.policies.conditions import (
    NO_BUDGET,
    ConditionsFailedError,
    conditions_hold,
)
from plimsoll.apiserver.admission.policies.index import AdmissionPolicy
from plimsoll.apiserver.admission.policies.limits import PolicyBudget
from plimsoll.apiserver.model.custom.cel.values import BudgetError, CelError, Meter, type_of
from plimsoll.apiserver.model.policies.compiled import (
    PolicyExpression,
    PolicyVariables,
    VariableMap,
)

LONGEST_MESSAGE = 5 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDenial:
    """Why a request is not to pass."""

    message: str
    index: int = 0
    """Of the validation."""
    reason: str = "Invalid"


@dataclass(slots=True)
class PolicyOutcome:
    denials: list[PolicyDenial] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    annotation_errors: list[str] = field(default_factory=list)


class _StoppedError(Exception):
    """The policy has no more to say: it failed as a whole."""


class PolicyEvaluation:
    def __init__(
        self, policy: AdmissionPolicy, names: dict[str, Any], budget: PolicyBudget
    ) -> None:
        self._policy = policy
        self._names = names
        self._budget = budget

    def outcome(self) -> PolicyOutcome:
        """Raises PolicyTimeNeededError."""
        outcome = PolicyOutcome()
        try:
            if self._is_concerned():
                self._validate(outcome)
                self._annotate(outcome)
        except _StoppedError as stopped:
            outcome = PolicyOutcome()
            if self._policy.fails_closed:
                outcome.denials.append(PolicyDenial(message=str(stopped)))
        return outcome

    def _metered(self) -> tuple[Meter, dict[str, Any]]:
        """A meter, and the names with variables that count on it."""
        meter, names = self._budget.meter(), dict(self._names)
        variables = PolicyVariables(self._policy.rules.variables, names, meter)
        names["variables"] = VariableMap(variables)
        return meter, names

    def _value(self, expression: PolicyExpression, names: dict[str, Any], meter: Meter) -> Any:
        """Raises CelError."""
        try:
            return expression.value(names, meter)
        except BudgetError:
            self._budget.exhausted()
            raise _StoppedError(NO_BUDGET) from None

    def _is_concerned(self) -> bool:
        try:
            return conditions_hold(self._policy.rules.conditions, self._names, self._budget)
        except ConditionsFailedError as error:
            raise _StoppedError(str(error)) from None

    def _validate(self, outcome: PolicyOutcome) -> None:
        meter, names = self._metered()
        for index, (written, rule, message) in enumerate(self._policy.rules.validations):
            try:
                if self._value(rule, names, meter) is True:
                    continue
            except CelError as error:
                if self._policy.fails_closed:
                    outcome.denials.append(PolicyDenial(message=str(error), index=index))
                continue
            made = "" if message is None else self._made_message(message, names, meter)
            plain = (written.get("message") or "").strip()
            said = made or plain or f"failed expression: {rule.text.strip()}"
            reason = written.get("reason") or "Invalid"
            outcome.denials.append(PolicyDenial(message=said, index=index, reason=reason))
        self._budget.settle(meter)

    def _made_message(
        self, expression: PolicyExpression, names: dict[str, Any], meter: Meter
    ) -> str:
        """Empty where there is none that can be shown."""
        try:
            made = self._value(expression, names, meter)
        except CelError:
            return ""
        text = made.strip() if isinstance(made, str) else ""
        return "" if len(text.encode()) > LONGEST_MESSAGE or "\n" in text else text

    def _annotate(self, outcome: PolicyOutcome) -> None:
        if not self._policy.rules.annotations:
            return
        meter, names = self._metered()
        for key, expression in self._policy.rules.annotations:
            try:
                value = self._value(expression, names, meter)
            except CelError as error:
                if self._policy.fails_closed:
                    outcome.annotation_errors.append(str(error))
                continue
            if isinstance(value, str):
                if value.strip():
                    outcome.annotations[key] = value.strip()
            elif value is not None:
                outcome.annotation_errors.append(
                    f"valueExpression '{expression.text}' resulted in unsupported return type: "
                    f"{type_of(value)}. Return type must be either string or null."
                )
        self._budget.settle(meter)


def evaluated(
    policy: AdmissionPolicy,
    names: dict[str, Any],
    params: Document | None,
    budget: PolicyBudget,
) -> PolicyOutcome:
    """What the policy says. Raises PolicyTimeNeededError."""
    return PolicyEvaluation(policy, names | {"params": params}, budget).outcome()
