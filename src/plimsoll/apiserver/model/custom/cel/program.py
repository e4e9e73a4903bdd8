"""One expression, ready to run."""

from dataclasses import dataclass
from typing import Any

from plimsoll.apiserver.model.custom.cel.checking import (
    Places,
    complaints,
    is_boolean,
    names_in,
    parts_of,
)
from plimsoll.apiserver.model.custom.cel.evaluating import METER, Evaluate, compiled
from plimsoll.apiserver.model.custom.cel.macros import bound_names
from plimsoll.apiserver.model.custom.cel.parsing import Expression, FunctionCall, parsed
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter


class CompilationError(ValueError):
    """A text that no document could make anything of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    run: Evaluate
    uses_old: bool
    """It compares with what was there before."""
    nodes: int
    """How many parts it has."""
    loops: int
    """How deep its loops are nested."""
    tree: Expression

    def value(self, variables: dict[str, Any], meter: Meter) -> Any:
        """Raises CelError."""
        try:
            return self.run({METER: meter, **variables})
        except RecursionError:
            raise CelError("expression is nested too deeply") from None


def compiled_program(text: str, variables: Places, *, wants_truth: bool = True) -> Program:
    """Raises CompilationError. `variables` are the places of the schema that names stand for."""
    try:
        return _compiled(text, variables, wants_truth=wants_truth)
    except CompilationError:
        raise
    except RecursionError:
        raise CompilationError("expression is nested too deeply") from None
    except ValueError as error:
        raise CompilationError(str(error)) from None


def _compiled(text: str, variables: Places, *, wants_truth: bool) -> Program:
    tree = parsed(text)
    found = complaints(tree, variables)
    if found:
        raise CompilationError("; ".join(found))
    if wants_truth and is_boolean(tree) is False:
        raise CompilationError("must evaluate to a bool")
    nodes, loops = _extent(tree)
    used = "oldSelf" in set(names_in(tree))
    return Program(run=compiled(tree), uses_old=used, nodes=nodes, loops=loops, tree=tree)


def _extent(tree: Expression) -> tuple[int, int]:
    """The number of parts, and how deep loops are nested."""
    below = [_extent(part) for part in parts_of(tree)]
    is_loop = isinstance(tree, FunctionCall) and bool(bound_names(tree)) and tree.function != "bind"
    loops = max((depth for _, depth in below), default=0)
    return 1 + sum(count for count, _ in below), loops + is_loop
