"""Field selectors as clients send them: `spec.nodeName=node-1,status.phase!=Failed`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
SPECIAL = re.compile(r"[\\,=]")
ESCAPE_OR_SPECIAL = re.compile(r"\\(.?)|[,=]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """A field that has the value, or, unless `is_equal`, has it not. A missing field is empty."""

    field: str
    value: str
    is_equal: bool = True

    def matches(self, fields: Mapping[str, str]) -> bool:
        return (fields.get(self.field, "") == self.value) is self.is_equal

    def __str__(self) -> str:
        value = SPECIAL.sub(r"\\\g<0>", self.value)
        return f"{self.field}{'=' if self.is_equal else '!='}{value}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All terms must hold."""

    terms: tuple[FieldTerm, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that it asks about."""
        return tuple(term.field for term in self.terms)

    def matches(self, fields: Mapping[str, str]) -> bool:
        for term in self.terms:  # as each of them would say; asked of every object in a list
            if (fields.get(term.field, "") == term.value) is not term.is_equal:
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


def parse_field_selector(text: str) -> FieldSelector:
    terms = (_parse_term(part, text) for part in sorted(_parts(text)) if part)
    return FieldSelector(tuple(term for term in terms if term.field or term.value))


def _parts(text: str) -> Iterator[str]:
    """What stands between commas; a backslash takes the meaning of the next character away."""
    start = position = 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == ",":
            yield text[start:position]
            start = position + 1
        position += 1
    yield text[start:]


def _parse_term(part: str, text: str) -> FieldTerm:
    found = TERM.fullmatch(part)
    if found is None:
        raise ValueError(f"invalid selector: '{text}'; can't understand '{part}'")
    name, operator, value = found.groups()
    return FieldTerm(name, _unescaped(value), is_equal=operator != "!=")


def _unescaped(value: str) -> str:
    for found in ESCAPE_OR_SPECIAL.finditer(value):
        if found[1] is None:
            raise ValueError(
                f"invalid field selector: unescaped character in value: {ord(found[0])}"
            )
        if not SPECIAL.fullmatch(found[1]):
            raise ValueError(f"invalid field selector: invalid escape sequence: {found[0]}")
    return ESCAPE_OR_SPECIAL.sub(r"\1", value)
