"""From a tree to functions: each part of an expression becomes a function of its variables."""

from collections.abc import Callable
from typing import Any

from plimsoll.apiserver.model.custom.cel import macros, operators
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
from plimsoll.apiserver.model.custom.cel.values import (
    NONE,
    CelError,
    CelType,
    Meter,
    OptionalValue,
    optional_of,
)

METER = ""
"""Under which name the variables carry the meter: no variable can have it."""
Variables = dict[str, Any]
Evaluate = Callable[[Variables], Any]

TYPES = {
    name: CelType(name)
    for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "type")
} | {"null_type": CelType("null_type")}


def compiled(tree: Expression) -> Evaluate:
    """The function of an expression. It raises CelError where there is no value."""
    match tree:
        case Constant(value):
            return lambda _variables: value
        case Name(name):
            return _name(name)
        case Select():
            return _select(tree)
        case Index():
            return _index(tree)
        case ListOf():
            return _list(tree)
        case MapOf():
            return _map(tree)
        case FunctionCall():
            return _call(tree)


def _name(name: str) -> Evaluate:
    if name in TYPES:
        return lambda variables: variables.get(name, TYPES[name])

    def evaluate(variables: Variables) -> Any:
        try:
            return variables[name]
        except KeyError:
            raise CelError(f"no such attribute: {name}") from None

    return evaluate


def member_of(value: Any, field: str) -> Any:
    """A member of an object. Raises CelError."""
    if isinstance(value, OptionalValue):
        return find_member(value, field)
    if value is None:
        raise CelError(f"no such key: {field}")
    if not isinstance(value, dict):
        raise CelError("no such overload")
    if field in value:
        return value[field]
    plain = unescaped(field)
    if plain in value:
        return value[plain]
    raise CelError(f"no such key: {field}")


def find_member(value: Any, field: str) -> OptionalValue:
    """The member, if there is one."""
    if isinstance(value, OptionalValue):
        if not value.is_there:
            return NONE
        value = value.value
    if value is None:
        return NONE
    if not isinstance(value, dict):
        raise CelError("no such overload")
    for name in (field, unescaped(field)):
        if name in value:
            return optional_of(value[name])
    return NONE


def _select(tree: Select) -> Evaluate:
    operand, field = compiled(tree.operand), tree.field
    look = find_member if tree.is_optional else member_of

    def evaluate(variables: Variables) -> Any:
        meter: Meter = variables[METER]
        meter.charge(1)
        return look(operand(variables), field)

    return evaluate


def _index(tree: Index) -> Evaluate:
    operand, index = compiled(tree.operand), compiled(tree.index)

    def evaluate(variables: Variables) -> Any:
        meter: Meter = variables[METER]
        meter.charge(1)
        value, key = operand(variables), index(variables)
        if isinstance(value, OptionalValue) or tree.is_optional:
            return operators.find_element(value, key)
        return operators.element(value, key)

    return evaluate


def _list(tree: ListOf) -> Evaluate:
    items = [(compiled(item), is_optional) for item, is_optional in tree.items]

    def evaluate(variables: Variables) -> list[Any]:
        meter: Meter = variables[METER]
        meter.charge(1 + len(items))
        found = []
        for item, is_optional in items:
            value = item(variables)
            if not is_optional:
                found.append(value)
            elif _is_there(value):
                found.append(value.value)
        return found

    return evaluate


def _map(tree: MapOf) -> Evaluate:
    entries = [(compiled(k), compiled(v), is_optional) for k, v, is_optional in tree.entries]

    def evaluate(variables: Variables) -> dict[Any, Any]:
        meter: Meter = variables[METER]
        meter.charge(1 + len(entries))
        found: dict[Any, Any] = {}
        for key, value, is_optional in entries:
            given = value(variables)
            if not is_optional:
                found[_checked_key(key(variables), found)] = given
            elif _is_there(given):
                found[_checked_key(key(variables), found)] = given.value
        return found

    return evaluate


def _is_there(value: Any) -> bool:
    if not isinstance(value, OptionalValue):
        raise operators.no_overload()
    return value.is_there


def _checked_key(key: Any, found: dict[Any, Any]) -> Any:
    """Raises CelError also for true beside 1 and false beside 0, which no map here can hold."""
    if not isinstance(key, str | bool | int):
        raise CelError("unsupported key type")
    if key in found and not operators.has_key(found, key):
        raise CelError("unsupported key type")
    return key


def _call(tree: FunctionCall) -> Evaluate:
    if tree.function in _SPECIAL and tree.target is None:
        return _SPECIAL[tree.function](tree)
    made = macros.expanded(tree, compiled, METER)
    if made is not None:
        return made
    path = namespace_of(tree)
    if path in NAMESPACES:
        return _plain(NAMESPACES[path], tree.arguments)
    if tree.target is not None:
        known = METHODS.get(tree.function)
        if known is None:
            raise CelError(f"undeclared reference to '{tree.function}'")
        return _plain(known, (tree.target, *tree.arguments))
    function = operators.OPERATORS.get(tree.function) or FUNCTIONS.get(tree.function)
    if function is None:
        raise CelError(f"undeclared reference to '{tree.function}'")
    return _plain(function, tree.arguments)


def namespace_of(tree: FunctionCall) -> str:
    """The whole name of a function such as `sets.contains`; empty for others."""
    if isinstance(tree.target, Name):
        return f"{tree.target.name}.{tree.function}"
    return ""


def _plain(function: Callable[..., Any], arguments: tuple[Expression, ...]) -> Evaluate:
    """A function of the library: the meter comes first, it charges for what is long."""
    parts = [compiled(argument) for argument in arguments]

    def evaluate(variables: Variables) -> Any:
        meter: Meter = variables[METER]
        meter.charge(1)
        values = [part(variables) for part in parts]
        try:
            return function(meter, *values)
        except CelError:
            raise
        except (TypeError, AttributeError, OverflowError):
            raise CelError("no such overload") from None
        except ValueError as error:
            raise CelError(str(error)) from None

    return evaluate


def _truth(part: Evaluate, variables: Variables) -> bool | CelError:
    """A truth value, or why there is none."""
    try:
        value = part(variables)
    except CelError as error:
        if type(error) is not CelError:
            raise
        # Another one: this one's traceback refers to the frames that would hold it.
        return CelError(*error.args)
    return value if isinstance(value, bool) else CelError("no such overload")


def _either(tree: FunctionCall, absorbing: bool) -> Evaluate:  # noqa: FBT001 && and || differ in this alone
    first, second = (compiled(argument) for argument in tree.arguments)

    def evaluate(variables: Variables) -> bool:
        meter: Meter = variables[METER]
        meter.charge(1)
        one = _truth(first, variables)
        if one is absorbing:
            return absorbing
        other = _truth(second, variables)
        if other is absorbing:
            return absorbing
        for each in (one, other):
            if isinstance(each, CelError):
                # Another one again, for the same reason.
                raise CelError(*each.args)
        return not absorbing

    return evaluate


def _choice(tree: FunctionCall) -> Evaluate:
    asked, first, second = (compiled(argument) for argument in tree.arguments)

    def evaluate(variables: Variables) -> Any:
        value = asked(variables)
        if not isinstance(value, bool):
            raise CelError("no such overload")
        return first(variables) if value else second(variables)

    return evaluate


_SPECIAL: dict[str, Callable[[FunctionCall], Evaluate]] = {
    "&&": lambda tree: _either(tree, absorbing=False),
    "||": lambda tree: _either(tree, absorbing=True),
    "?:": _choice,
}
