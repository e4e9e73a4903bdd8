"""Label selectors, written as an object or as the text that clients send: `app=web,tier in (a,b)`.

Both become a LabelSelector. Its text form is what the API shows for it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import msgspec

from plimsoll.api.meta import ApiStruct
from plimsoll.api.selectors.complaints import label_key_complaint, quoted
from plimsoll.api.selectors.requirement import Operator, Requirement, parse_requirement

SPEC_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


class LabelRequirementSpec(ApiStruct, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelectorSpec(ApiStruct, frozen=True, kw_only=True):
    match_labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelRequirementSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold; without any, everything is selected."""

    requirements: tuple[Requirement, ...] = ()
    selects_nothing: bool = False

    @classmethod
    def of(cls, spec: LabelSelectorSpec | None) -> Self:
        """A missing selector selects nothing, an empty one everything."""
        if spec is None:
            return cls(selects_nothing=True)
        requirements = [
            parse_requirement(key, Operator.EQUALS, (value,))
            for key, value in sorted(spec.match_labels.items())
        ]
        requirements += map(_read_expression, spec.match_expressions)
        return cls(_in_order(requirements))

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> Self:
        """Objects with exactly these labels, and maybe others. Nothing is checked."""
        return cls(
            _in_order(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())
        )

    @property
    def is_empty(self) -> bool:
        return not self.requirements and not self.selects_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        # A plain loop: this runs for every object of every list, and all() takes twice the time.
        for requirement in self.requirements:
            if not requirement.matches(labels):
                return False
        return not self.selects_nothing

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = LabelSelector()
NOTHING = LabelSelector(selects_nothing=True)


def _in_order(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(requirements, key=lambda requirement: requirement.key))


def _read_expression(spec: LabelRequirementSpec) -> Requirement:
    operator = SPEC_OPERATORS.get(spec.operator)
    if operator is None:
        raise ValueError(f"{quoted(spec.operator)} is not a valid label selector operator")
    return parse_requirement(spec.key, operator, spec.values or None)


def parse_label_selector(text: str) -> LabelSelector:
    return LabelSelector(_in_order(_Parser(text).requirements()))


BLANKS = " \t\r\n"
TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+)")
PUNCTUATION = frozenset({"", "==", "!=", "=", "!", "(", ")", ",", "<", ">"})
TEXT_OPERATORS = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
END = ""


class _Parser:
    """Reads tokens from left to right; the words `in` and `notin` may also be keys and values."""

    def __init__(self, text: str) -> None:
        # Blanks at the end belong to no token: each would be tried as the beginning of one.
        self._tokens = [*TOKEN.findall(text.rstrip(BLANKS)), END]
        self._position = 0

    def _peek(self) -> str:
        return str(self._tokens[self._position])

    def _take(self) -> str:
        token = self._peek()
        self._position += 1
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if self._peek() == END:
            return found
        if not self._is_at_start():
            raise ValueError(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
        while True:
            found.append(self._requirement_or_error())
            match self._take():
                case "":
                    return found
                case ",":
                    if not self._is_at_start():
                        raise ValueError(f"found '{self._peek()}', expected: identifier after ','")
                case other:
                    raise ValueError(f"found '{other}', expected: ',' or 'end of string'")

    def _is_at_start(self) -> bool:
        return self._peek() == "!" or self._peek() not in PUNCTUATION

    def _requirement_or_error(self) -> Requirement:
        try:
            return self._requirement()
        except ValueError as error:
            raise ValueError(f"unable to parse requirement: {error}") from error

    def _requirement(self) -> Requirement:
        is_negated = self._peek() == "!"
        if is_negated:
            self._take()
        key = self._identifier()
        if complaint := label_key_complaint("<nil>", key):
            raise ValueError(complaint)
        if is_negated:
            return Requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek() in (END, ","):
            return Requirement(key, Operator.EXISTS)
        operator = self._operator()
        is_set = operator in (Operator.IN, Operator.NOT_IN)
        values = self._set() if is_set else {self._exact_value()}
        return parse_requirement(key, operator, sorted(values))

    def _identifier(self) -> str:
        token = self._take()
        if token in PUNCTUATION:
            raise ValueError(f"found '{token}', expected: identifier")
        return token

    def _operator(self) -> Operator:
        token = self._take()
        if token not in TEXT_OPERATORS:
            listed = ", ".join(TEXT_OPERATORS.values())
            raise ValueError(f"found '{token}', expected: {listed}")
        return TEXT_OPERATORS[token]

    def _exact_value(self) -> str:
        return "" if self._peek() in (END, ",") else self._identifier()

    def _set(self) -> set[str]:
        if (opening := self._take()) != "(":
            raise ValueError(f"found '{opening}' expected: '('")
        first = self._peek()
        if first == ")":
            self._take()
            return {""}
        if first in PUNCTUATION and first != ",":
            raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
        return self._members()

    def _members(self) -> set[str]:
        """Up to the closing parenthesis. Nothing between two commas is the empty value."""
        found: set[str] = set()
        while True:
            member = self._take()
            following = self._peek() if member != END else END
            if member == ",":
                if not found or following in (",", ")"):
                    found.add("")
            elif member in PUNCTUATION:
                raise ValueError(f"found '{member}', expected: ',', or identifier")
            else:
                found.add(member)
                if following not in (",", ")"):
                    raise ValueError(f"found '{following}', expected: ',' or ')'")
            if following == ")":
                self._take()
                return found
