"""What type the value of an expression has, as far as that can be told without running it.

Kubernetes refuses a policy whose rule is no truth value, which includes one that only may be: what
an object of any kind holds is of type dyn.
"""

from plimsoll.apiserver.model.custom.cel.checking import Places
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
from plimsoll.apiserver.model.custom.cel.values import type_of
from plimsoll.apiserver.model.custom.nodes import SchemaNode

DYN = "dyn"
_BOOL = frozenset({"&&", "||", "!", "==", "!=", "<", "<=", ">", ">=", "in", "has"}) | {
    "all",
    "allowed",
    "contains",
    "endsWith",
    "errored",
    "exists",
    "existsOne",
    "exists_one",
    "hasValue",
    "isCIDR",
    "isIP",
    "isQuantity",
    "isSemver",
    "isSorted",
    "isURL",
    "matches",
    "startsWith",
}
_STRING = frozenset({"string", "lowerAscii", "upperAscii", "replace", "trim", "join"}) | {
    "error",
    "format",
    "reason",
    "substring",
}
_INT = frozenset(["size", "int", "indexOf", "lastIndexOf", "compareTo"])
_LIST = frozenset(["filter", "map", "transformList", "split", "findAll"])
_ARITHMETIC = frozenset(["+", "-", "*", "/", "%", "-_"])
_BY_SCHEMA = {
    "boolean": "bool",
    "integer": "int",
    "number": "double",
    "string": "string",
    "array": "list",
    "object": "map",
}


def result_type(tree: Expression, names: Places) -> str | None:
    """The name of the type; None: not known."""
    match tree:
        case Constant(value):
            return type_of(value).name
        case ListOf():
            return "list"
        case MapOf():
            return "map"
        case Name() | Select() | Index():
            return _of_place(tree, names)
        case FunctionCall("?:", (_, first, second), _):
            both = {result_type(first, names), result_type(second, names)}
            return both.pop() if len(both) == 1 else None
        case FunctionCall(function, arguments, None) if function in _ARITHMETIC:
            known = {result_type(argument, names) for argument in arguments}
            # What may be anything becomes what the other is; two kinds may become a third.
            known = known if known == {DYN} else known - {DYN}
            return known.pop() if len(known) == 1 else None
        case FunctionCall(function, _, _):
            return _of_function(function)


def _of_function(function: str) -> str | None:
    for named, known in (("bool", _BOOL), ("string", _STRING), ("int", _INT), ("list", _LIST)):
        if function in known:
            return named
    return "bool" if function == "bool" else None


def _of_place(tree: Expression, names: Places) -> str | None:
    """A path of members and elements that begins with one of the names."""
    steps: list[Expression] = []
    while isinstance(tree, Select | Index):
        if tree.is_optional:
            return None
        steps.append(tree)
        tree = tree.operand
    if not isinstance(tree, Name) or tree.name not in names:
        return None
    node = names[tree.name]
    if node is None:
        return DYN
    for step in reversed(steps):
        below = node.child(step.field) if isinstance(step, Select) else node.items
        if below is None:
            return None
        node = below
    return _of_node(node)


def _of_node(node: SchemaNode) -> str | None:
    if "x-type" in node.raw:
        known: str = node.raw["x-type"]
        return known
    return _BY_SCHEMA.get(node.types[0]) if node.types else None
