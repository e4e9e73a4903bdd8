"""A policy that is ready to run: its expressions as programs, its variables in their order.

Policies are compiled twice: when one is written, to tell what is wrong with it, and when the first
request meets it.
"""

from dataclasses import dataclass, field
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.cel.program import CompilationError, Program
from plimsoll.apiserver.model.custom.cel.values import BudgetError, CelError, Meter
from plimsoll.apiserver.model.policies.expressions import (
    BOOL,
    NULL,
    STRING,
    compiled_expression,
    places,
)


@dataclass(frozen=True, slots=True)
class PolicyExpression:
    """One expression of a policy; what could not be compiled says so whenever it is run."""

    text: str
    program: Program | None
    failure: str = ""

    def value(self, names: dict[str, Any], meter: Meter) -> Any:
        """Raises CelError, with the expression and what is wrong in Kubernetes' words."""
        if self.program is None:
            raise CelError(f"compilation error: {self.failure}")
        try:
            return self.program.value(names, meter)
        except BudgetError:
            raise
        except CelError as error:
            raise CelError(f"expression '{self.text}' resulted in error: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRuleSet:
    """The expressions of a policy."""

    conditions: tuple[PolicyExpression, ...]
    variables: dict[str, PolicyExpression]
    validations: tuple[tuple[Document, PolicyExpression, PolicyExpression | None], ...]
    """As they are written, with the rule and what makes its message."""
    annotations: tuple[tuple[str, PolicyExpression], ...]


class PolicyCompiler:
    """Compiles the expressions of one policy; variables are known to what comes after them."""

    def __init__(self, spec: Document) -> None:
        self._has_params = spec.get("paramKind") is not None
        self._types: dict[str, str | None] | None = {} if spec.get("variables") else None

    def condition(self, text: str) -> Program:
        """Raises CompilationError, as all do."""
        names = places(has_params=self._has_params)
        return compiled_expression(text, names, BOOL)[0]

    def variable(self, name: str, text: str) -> Program:
        program, kind = compiled_expression(text, self._names())
        if self._types is not None:
            self._types[name] = kind
        return program

    def unknown(self, name: str) -> None:
        """A variable that cannot be compiled still has its name."""
        if self._types is not None:
            self._types[name] = None

    def validation(self, text: str) -> Program:
        return compiled_expression(text, self._names(), BOOL)[0]

    def message(self, text: str) -> Program:
        return compiled_expression(text, self._names(has_authorizer=False), STRING)[0]

    def annotation(self, text: str) -> Program:
        return compiled_expression(text, self._names(), STRING, NULL)[0]

    def _names(self, *, has_authorizer: bool = True) -> Any:
        return places(
            has_params=self._has_params, has_authorizer=has_authorizer, variables=self._types
        )


def compiled_rules(spec: Document) -> PolicyRuleSet:
    """Never raises: what cannot be compiled fails when it is run."""
    compiler = PolicyCompiler(spec)
    variables: dict[str, PolicyExpression] = {}
    for each in spec.get("variables") or ():
        name, text = each.get("name", ""), each.get("expression", "")
        variables[name] = _expression(lambda t, n=name: compiler.variable(n, t), text)
        if variables[name].program is None:
            compiler.unknown(name)
    return PolicyRuleSet(
        conditions=tuple(
            _expression(compiler.condition, each.get("expression", ""))
            for each in spec.get("matchConditions") or ()
        ),
        variables=variables,
        validations=tuple(
            (
                each,
                _expression(compiler.validation, each.get("expression", "")),
                _expression(compiler.message, text)
                if (text := each.get("messageExpression"))
                else None,
            )
            for each in spec.get("validations") or ()
        ),
        annotations=tuple(
            (each.get("key", ""), _expression(compiler.annotation, each.get("valueExpression", "")))
            for each in spec.get("auditAnnotations") or ()
        ),
    )


def _expression(compile_: Any, text: str) -> PolicyExpression:
    try:
        return PolicyExpression(text, compile_(text))
    except CompilationError as error:
        return PolicyExpression(text, None, str(error))


@dataclass(slots=True)
class PolicyVariables:
    """The variables of one evaluation: each is found out when it is first asked for."""

    expressions: dict[str, PolicyExpression]
    names: dict[str, Any]
    meter: Meter
    found: dict[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Any:
        """Raises CelError."""
        if name not in self.found:
            expression = self.expressions[name]
            if expression.program is None:
                raise CelError(
                    f'composited variable "{name}" fails to compile: {expression.failure}'
                )
            try:
                self.found[name] = expression.program.value(self.names, self.meter)
            except BudgetError:
                raise
            except CelError as error:
                said = f'composited variable "{name}" fails to evaluate: {error}'
                raise CelError(said) from None
        return self.found[name]


class VariableMap(dict[str, Any]):
    """What the name `variables` stands for."""

    def __init__(self, variables: PolicyVariables) -> None:
        super().__init__()
        self._variables = variables

    def __contains__(self, name: object) -> bool:
        return name in self._variables.expressions

    def __getitem__(self, name: str) -> Any:
        return self._variables.find(name)
