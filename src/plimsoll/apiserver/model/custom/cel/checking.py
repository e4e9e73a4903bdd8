"""What can be said of an expression before it ever runs: unknown names, functions and fields.

Places of the schema are followed through members, elements and the variables of macros. Where a
place is not known, nothing is said about what is below it.
"""

from collections.abc import Iterator

from plimsoll.apiserver.model.custom.cel import macros, operators
from plimsoll.apiserver.model.custom.cel.evaluating import TYPES, namespace_of
from plimsoll.apiserver.model.custom.cel.library.functions import FUNCTIONS, METHODS, NAMESPACES
from plimsoll.apiserver.model.custom.cel.names import unescaped
from plimsoll.apiserver.model.custom.cel.parsing import (
    Constant,
    Expression,
    FunctionCall,
    Index,
    ListOf,
    MapOf,
    Name,
    Select,
)
from plimsoll.apiserver.model.custom.cel.static_types import (
    complaint_about_index,
    complaint_about_membership,
    static_type,
)
from plimsoll.apiserver.model.custom.nodes import SchemaNode

SPECIAL = ("&&", "||", "?:", "has")
_LISTS = ("filter", "distinct", "reverse", "slice")
_BOOLEAN = frozenset(
    {"&&", "||", "!", "==", "!=", "<", "<=", ">", ">=", "in", "has", "all", "exists", "exists_one"}
)
_TRUTH = ("matches", "startsWith", "endsWith", "contains", "hasValue", "isSorted")


Place = SchemaNode | None
UNKNOWN: Place = None
"""A place that the schema does not tell."""
Places = dict[str, Place]


def complaints(tree: Expression, variables: Places) -> list[str]:
    """Why the expression cannot have a value, whatever the document says."""
    checker = _Checker()
    checker.place(tree, variables)
    return list(dict.fromkeys(checker.found))


def is_boolean(tree: Expression) -> bool | None:
    """Whether the value is a truth value; None: that is not known."""
    match tree:
        case Constant(value):
            return isinstance(value, bool)
        case ListOf() | MapOf():
            return False
        case FunctionCall("?:", (_, first, second), _):
            both = {is_boolean(first), is_boolean(second)}
            return both.pop() if len(both) == 1 else None
        case FunctionCall(function, _, target):
            if function in _BOOLEAN or (target is not None and function in _TRUTH):
                return True
            is_arithmetic = target is None and function in ("+", "-", "*", "/", "%", "-_", "size")
            return False if is_arithmetic else None
        case _:
            return None


def names_in(tree: Expression) -> Iterator[str]:
    """All names that an expression mentions."""
    if isinstance(tree, Name):
        yield tree.name
    for part in parts_of(tree):
        yield from names_in(part)


def parts_of(tree: Expression) -> list[Expression]:
    match tree:
        case Select(operand, _, _):
            return [operand]
        case Index(operand, index, _):
            return [operand, index]
        case ListOf(items):
            return [item for item, _ in items]
        case MapOf(entries):
            return [part for key, value, _ in entries for part in (key, value)]
        case FunctionCall(_, arguments, target):
            return [*([] if target is None else [target]), *arguments]
        case _:
            return []


class _Checker:
    def __init__(self) -> None:
        self.found: list[str] = []

    def place(self, tree: Expression, variables: Places) -> Place:
        """Where in the schema the value of an expression is."""
        match tree:
            case Name(name):
                return self._name(name, variables)
            case Select(operand, field, _):
                return self._member(self.place(operand, variables), field)
            case Index(operand, index, _):
                key = static_type(index, self.place(index, variables))
                holder = self.place(operand, variables)
                self._complain(complaint_about_index(static_type(operand, holder), key))
                return UNKNOWN if holder is None else holder.items or holder.additional
            case FunctionCall():
                return self._call(tree, variables)
            case _:
                for part in parts_of(tree):
                    self.place(part, variables)
                return UNKNOWN

    def _complain(self, complaint: str) -> None:
        if complaint:
            self.found.append(complaint)

    def _name(self, name: str, variables: Places) -> Place:
        if name in variables:
            return variables[name]
        if name not in TYPES:
            self.found.append(f"undeclared reference to '{name}' (in container '')")
        return UNKNOWN

    def _member(self, holder: Place, field: str) -> Place:
        if holder is None or holder.raw.get("x-kubernetes-int-or-string"):
            return UNKNOWN
        below = holder.child(field) or holder.child(unescaped(field))
        if below is None and holder.types == ("object",) and not holder.embedded:
            self.found.append(f"undefined field '{field}'")
        elif below is None and holder.types not in ((), ("object",)):
            self.found.append(f"type '{holder.types[0]}' does not support field selection")
        return below

    def _call(self, tree: FunctionCall, variables: Places) -> Place:
        names = macros.bound_names(tree)
        if names:
            return self._macro(tree, names, variables)
        if namespace_of(tree) in NAMESPACES:
            for argument in tree.arguments:
                self.place(argument, variables)
            return UNKNOWN
        table = METHODS if tree.target is not None else FUNCTIONS | operators.OPERATORS
        if tree.function not in table and not (tree.target is None and tree.function in SPECIAL):
            self.found.append(f"undeclared reference to '{tree.function}' (in container '')")
        parts = parts_of(tree)
        places = [self.place(part, variables) for part in parts]
        if tree.function == "in" and tree.target is None:
            types = map(static_type, parts, places)
            self._complain(complaint_about_membership(*types))
        return places[0] if tree.function in _LISTS and tree.target is not None else UNKNOWN

    def _macro(self, tree: FunctionCall, names: tuple[str, ...], variables: Places) -> Place:
        if tree.function == "bind":
            inner = variables | {names[0]: self.place(tree.arguments[1], variables)}
            return self.place(tree.arguments[2], inner)
        holder = self.place(tree.target or Constant(None), variables)
        element = UNKNOWN if holder is None else holder.items or holder.additional
        is_map = holder is not None and holder.items is None
        inner = dict(variables)
        if len(names) == 1:
            inner[names[0]] = UNKNOWN if is_map else element
        else:
            inner |= {names[0]: UNKNOWN, names[1]: element}
        for argument in tree.arguments[len(names) :]:
            self.place(argument, inner)
        return holder if tree.function == "filter" else UNKNOWN
