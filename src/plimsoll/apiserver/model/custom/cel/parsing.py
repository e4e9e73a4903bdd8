"""From words to a tree: expressions with the precedence of the language."""

from dataclasses import dataclass
from typing import Any

from plimsoll.apiserver.model.custom.cel.tokens import CelSyntaxError, Token, tokens

DEEPEST = 40
"""How deep parentheses, lists and calls may be nested."""
MOST_OPERATORS = 100
"""In one chain of operators of the same precedence."""

RELATIONS = ("<", "<=", ">=", ">", "==", "!=", "in")
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_CONSTANTS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Constant:
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    operand: "Expression"
    field: str
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    operand: "Expression"
    index: "Expression"
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class FunctionCall:
    function: str
    """Operators are functions, too: `+`, `!`, `?:`."""
    arguments: "tuple[Expression, ...]"
    target: "Expression | None" = None


@dataclass(frozen=True, slots=True)
class ListOf:
    items: "tuple[tuple[Expression, bool], ...]"
    """Each with whether it is left out when it is an optional that is not there."""


@dataclass(frozen=True, slots=True)
class MapOf:
    entries: "tuple[tuple[Expression, Expression, bool], ...]"


Expression = Constant | Name | Select | Index | FunctionCall | ListOf | MapOf


def parsed(text: str) -> Expression:
    """The tree of an expression. Raises CelSyntaxError."""
    return _Parser(list(tokens(text))).whole()


class _Parser:
    def __init__(self, words: list[Token]) -> None:
        self._words = words
        self._place = 0
        self._depth = 0

    def whole(self) -> Expression:
        found = self._expression()
        if self._next.kind != "end":
            raise self._unexpected()
        return found

    @property
    def _next(self) -> Token:
        return self._words[self._place]

    def _take(self) -> Token:
        word = self._words[self._place]
        self._place += 1
        return word

    def _has(self, *signs: str) -> bool:
        word = self._next
        return word.kind in ("sign", "name") and word.text in signs

    def _accept(self, sign: str) -> bool:
        if self._next.kind == "sign" and self._next.text == sign:
            self._place += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected()

    def _unexpected(self) -> CelSyntaxError:
        word = self._next
        return CelSyntaxError(f"Syntax error: mismatched input '{word.text}' at {word.at + 1}")

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CelSyntaxError(f"an expression may be nested {DEEPEST} levels deep")
        found = self._chain(("||",), self._and)
        if self._accept("?"):
            first = self._chain(("||",), self._and)
            self._expect(":")
            found = FunctionCall("?:", (found, first, self._expression()))
        self._depth -= 1
        return found

    def _and(self) -> Expression:
        return self._chain(("&&",), self._relation)

    def _relation(self) -> Expression:
        return self._chain(RELATIONS, self._sum)

    def _sum(self) -> Expression:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Expression:
        return self._chain(("*", "/", "%"), self._unary)

    def _chain(self, signs: tuple[str, ...], below: Any) -> Expression:
        found: Expression = below()
        count = 0
        while self._has(*signs):
            sign = self._take().text
            found = FunctionCall(sign, (found, below()))
            count += 1
            if count > MOST_OPERATORS:
                raise CelSyntaxError(f"at most {MOST_OPERATORS} operators may stand in a row")
        return found

    def _unary(self) -> Expression:
        sign = self._next.text if self._has("!", "-") else ""
        count = 0
        while sign and self._accept(sign):
            count += 1
        found = self._member()
        if sign == "-" and count == 1 and isinstance(found, Constant):
            return (
                Constant(-found.value) if _is_number(found.value) else FunctionCall("-_", (found,))
            )
        return FunctionCall("!" if sign == "!" else "-_", (found,)) if count % 2 else found

    def _member(self) -> Expression:
        found = self._primary()
        while True:
            if self._accept("."):
                found = self._selected(found)
            elif self._accept("["):
                is_optional = self._accept("?")
                found = Index(found, self._expression(), is_optional)
                self._expect("]")
            else:
                return found

    def _selected(self, operand: Expression) -> Expression:
        is_optional = self._accept("?")
        word = self._take()
        if word.kind == "quoted":
            return Select(operand, word.text, is_optional)
        if word.kind != "name":
            self._place -= 1
            raise self._unexpected()
        if not is_optional and self._accept("("):
            return FunctionCall(word.text, self._arguments(")"), operand)
        return Select(operand, word.text, is_optional)

    def _arguments(self, end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self._accept(end):
            found.append(self._expression())
            if not self._has(end):
                self._expect(",")
        return tuple(found)

    def _primary(self) -> Expression:
        word = self._take()
        match word.kind, word.text:
            case "value", _:
                return Constant(word.value)
            case "sign", "(":
                found = self._expression()
                self._expect(")")
                return found
            case "sign", "[":
                return self._list()
            case "sign", "{":
                return self._map()
            case "sign", "." if self._next.kind == "name":
                return self._named(self._take().text)
            case "name", _:
                return self._named(word.text)
            case _:
                self._place -= 1
                raise self._unexpected()

    def _named(self, name: str) -> Expression:
        if name in _CONSTANTS:
            return Constant(_CONSTANTS[name])
        if name in RESERVED:
            raise CelSyntaxError(f"reserved identifier: {name}")
        if self._accept("("):
            return FunctionCall(name, self._arguments(")"))
        return Name(name)

    def _list(self) -> Expression:
        items: list[tuple[Expression, bool]] = []
        while not self._accept("]"):
            is_optional = self._accept("?")
            items.append((self._expression(), is_optional))
            if not self._has("]"):
                self._expect(",")
        return ListOf(tuple(items))

    def _map(self) -> Expression:
        entries: list[tuple[Expression, Expression, bool]] = []
        while not self._accept("}"):
            is_optional = self._accept("?")
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression(), is_optional))
            if not self._has("}"):
                self._expect(",")
        return MapOf(tuple(entries))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
