"""Forms of expressions that bind names: has, all, exists, map, filter, cel.bind and the like."""

from collections.abc import Callable, Iterator
from typing import Any

from plimsoll.apiserver.model.custom.cel.parsing import (
    Constant,
    Expression,
    FunctionCall,
    Name,
    Select,
)
from plimsoll.apiserver.model.custom.cel.values import (
    NONE,
    CelError,
    Meter,
    OptionalValue,
    optional_of,
)

Variables = dict[str, Any]
Evaluate = Callable[[Variables], Any]
Compile = Callable[[Expression], Evaluate]
Loop = Callable[[Iterator[Any], Callable[[Any], Any]], Any]

BINDING = {
    "all": (2, 3),
    "exists": (2, 3),
    "exists_one": (2, 3),
    "existsOne": (2, 3),
    "filter": (2,),
    "map": (2, 3),
    "transformList": (3, 4),
    "transformMap": (3, 4),
    "optMap": (2,),
    "optFlatMap": (2,),
}
"""Macros with a target, and how many arguments they may have."""


def expanded(tree: FunctionCall, compile_: Compile, meter: str) -> Evaluate | None:
    """The function of a macro; None: the call is none."""
    if tree.function == "has" and tree.target is None:
        return _has(tree, compile_)
    if tree.function == "bind" and tree.target == Name("cel"):
        return _bind(tree, compile_)
    if tree.target is None or len(tree.arguments) not in BINDING.get(tree.function, ()):
        return None
    names = bound_names(tree)
    if not names:
        return None
    if tree.function in ("optMap", "optFlatMap"):
        return _optional(tree, compile_, names[0])
    return _Comprehension(tree, compile_, names, meter)


def bound_names(tree: FunctionCall) -> tuple[str, ...]:
    """The variables that a macro binds; none: the call is no macro."""
    if tree.function == "bind" and tree.target == Name("cel") and len(tree.arguments) == 3:  # noqa: PLR2004 name, value, body
        first = tree.arguments[0]
        return (first.name,) if isinstance(first, Name) else ()
    if tree.target is None or len(tree.arguments) not in BINDING.get(tree.function, ()):
        return ()
    count = 2 if _has_two(tree) else 1
    given = tree.arguments[:count]
    names = tuple(each.name for each in given if isinstance(each, Name))
    return names if len(names) == count else ()


def _has_two(tree: FunctionCall) -> bool:
    if tree.function in ("transformList", "transformMap"):
        return True
    several = tree.function in ("all", "exists", "exists_one", "existsOne")
    return several and len(tree.arguments) == BINDING["all"][1]


def _has(tree: FunctionCall, compile_: Compile) -> Evaluate:
    if len(tree.arguments) != 1 or not isinstance(tree.arguments[0], Select):
        raise CelError("invalid argument to has() macro")
    asked = tree.arguments[0]
    look = compile_(Select(asked.operand, asked.field, is_optional=True))
    return lambda variables: look(variables).is_there


def _bind(tree: FunctionCall, compile_: Compile) -> Evaluate:
    names = bound_names(tree)
    if not names:
        raise CelError("cel.bind() variable names must be simple identifiers")
    value, body = (compile_(argument) for argument in tree.arguments[1:])
    return lambda variables: body(variables | {names[0]: value(variables)})


def _optional(tree: FunctionCall, compile_: Compile, name: str) -> Evaluate:
    target, body = compile_(tree.target or Constant(None)), compile_(tree.arguments[1])
    flat = tree.function == "optFlatMap"

    def evaluate(variables: Variables) -> OptionalValue:
        value = target(variables)
        if not isinstance(value, OptionalValue):
            raise CelError("no such overload")
        if not value.is_there:
            return NONE
        made = body(variables | {name: value.value})
        return made if flat else optional_of(made)

    return evaluate


class _Comprehension:
    """One macro over the elements of a list or the keys of a map."""

    def __init__(
        self, tree: FunctionCall, compile_: Compile, names: tuple[str, ...], meter: str
    ) -> None:
        self._target = compile_(tree.target or Constant(None))
        self._names = names
        self._meter = meter
        self._parts = [compile_(argument) for argument in tree.arguments[len(names) :]]
        self._fold: Callable[[Any, Iterator[Variables]], Any] = getattr(
            self, f"_{_FOLDS[tree.function]}"
        )

    def __call__(self, variables: Variables) -> Any:
        value = self._target(variables)
        if not isinstance(value, list | dict):
            raise CelError("no such overload")
        return self._fold(value, self._bindings(value, variables))

    def _bindings(self, value: Any, variables: Variables) -> Iterator[Variables]:
        inner = dict(variables)
        meter: Meter = variables[self._meter]
        for element in self._elements(value):
            meter.charge(1)
            inner.update(zip(self._names, element, strict=True))
            yield inner

    def _elements(self, value: Any) -> Iterator[tuple[Any, ...]]:
        if len(self._names) == 1:
            return ((element,) for element in value)
        return iter(value.items() if isinstance(value, dict) else enumerate(value))

    def _holds(self, variables: Variables, part: int = 0) -> bool:
        found = self._parts[part](variables)
        if not isinstance(found, bool):
            raise CelError("no such overload")
        return found

    def _any(self, bindings: Iterator[Variables], wanted: bool) -> bool:  # noqa: FBT001
        """Whether one gives the wanted answer; an error counts only if none does."""
        failure: tuple[object, ...] | None = None
        for inner in bindings:
            try:
                if self._holds(inner) is wanted:
                    return True
            except CelError as error:
                if type(error) is not CelError:
                    raise
                failure = error.args
        if failure is not None:
            # Another one, which no name of this frame refers to: the traceback refers to the frame,
            # and the circle would keep the values until the collector finds it.
            raise CelError(*failure)
        return False

    def _all(self, _value: Any, bindings: Iterator[Variables]) -> bool:
        return not self._any(bindings, False)

    def _exists(self, _value: Any, bindings: Iterator[Variables]) -> bool:
        return self._any(bindings, True)

    def _one(self, _value: Any, bindings: Iterator[Variables]) -> bool:
        return sum(self._holds(inner) for inner in bindings) == 1

    def _filter(self, _value: Any, bindings: Iterator[Variables]) -> list[Any]:
        name = self._names[0]
        return [inner[name] for inner in bindings if self._holds(inner)]

    def _map(self, _value: Any, bindings: Iterator[Variables]) -> list[Any]:
        if len(self._parts) == 1:
            return [self._parts[0](inner) for inner in bindings]
        return [self._parts[1](inner) for inner in bindings if self._holds(inner)]

    def _map_to_map(self, value: Any, bindings: Iterator[Variables]) -> dict[Any, Any]:
        if not isinstance(value, dict | list):
            raise CelError("no such overload")
        key, last = self._names[0], len(self._parts) - 1
        return {
            inner[key]: self._parts[last](inner)
            for inner in bindings
            if not last or self._holds(inner)
        }


_FOLDS = {
    "all": "all",
    "exists": "exists",
    "exists_one": "one",
    "existsOne": "one",
    "filter": "filter",
    "map": "map",
    "transformList": "map",
    "transformMap": "map_to_map",
}
