"""How long a document of a kind may take to check, before it is looked at.

An upper bound, in steps of about the same time: every rule may run for every element of the lists
that it stands below, and each of its loops may go over everything that the document has.
"""

from collections.abc import Iterator
from functools import cached_property

from plimsoll.apiserver.model.custom.cel.checking import Places
from plimsoll.apiserver.model.custom.cel.program import CompilationError, compiled_program
from plimsoll.apiserver.model.custom.nodes import SchemaNode
from plimsoll.apiserver.model.custom.pruning import puts_much
from plimsoll.apiserver.model.custom.values import regexes

BYTES_EACH = 8
"""A document has at most one value in so many bytes, with its name."""
INSTRUCTIONS_EACH = 100
"""So many instructions of a pattern take as long as a step, for each value's characters."""
MOST = 1 << 40
COMBINATIONS = ("allOf", "anyOf", "oneOf")


class Effort:
    def __init__(self, node: SchemaNode) -> None:
        self._node = node

    @cached_property
    def _terms(self) -> list[tuple[int, int]]:
        """Steps of each rule and combination, and by how many loops they are multiplied."""
        return list(_terms(self._node, 0))

    def compile(self) -> None:
        """As `ServedVersion.compile`, and for the same reason."""
        vars(self).update(_terms=list(_terms(self._node, 0)), _puts_much=puts_much(self._node))

    @cached_property
    def _puts_much(self) -> bool:
        return puts_much(self._node)

    def steps(self, size: int) -> int:
        """For a document of so many bytes."""
        if self._puts_much:
            return MOST
        values = 1 + size // BYTES_EACH
        total = values
        for steps, loops in self._terms:
            total = min(MOST, total + steps * values**loops)
        return total


def _terms(node: SchemaNode, level: int) -> Iterator[tuple[int, int]]:
    for rule in node.rules:
        for name in ("rule", "messageExpression"):
            text = rule.get(name)
            if text:
                yield _of_text(text, level)
    pattern = node.raw.get("pattern")
    if pattern:
        yield regexes.size_of(pattern) // INSTRUCTIONS_EACH, level + 1
    count = sum(len(node.raw.get(name) or ()) for name in COMBINATIONS)
    if count:
        yield _nested(node.raw), level + 1
    for below in node.properties.values():
        yield from _terms(below, level)
    for inner in (node.additional, node.items):
        if inner is not None:
            yield from _terms(inner, level + 1)


def _of_text(text: str, level: int) -> tuple[int, int]:
    try:
        program = compiled_program(text, _ANY, wants_truth=False)
    except CompilationError:
        return 0, 0
    return program.nodes, level + program.loops


_ANY: Places = {"self": None, "oldSelf": None}


def _nested(raw: dict[str, object]) -> int:
    """How many alternatives there are, those of alternatives among them."""
    total = 0
    for name in COMBINATIONS:
        listed = raw.get(name)
        for below in listed if isinstance(listed, list) else ():
            total += 1 + _nested(below)
    return total
