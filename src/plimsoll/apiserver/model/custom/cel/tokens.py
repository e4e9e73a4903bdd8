"""The words of an expression."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plimsoll.apiserver.model.custom.cel.values import UInt

LONGEST_TEXT = 16_384
"""Of an expression, in characters."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
      |(?P<text>(?:[rR][bB]?|[bB][rR])(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"[^"\r\n]*"|'[^'\r\n]*')
          |[bB]?(?:\"{3}(?:[^\\]|\\[\s\S])*?\"{3}|'{3}(?:[^\\]|\\[\s\S])*?'{3}
          |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'))
      |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
      |(?P<int>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
      |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
      |(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
      |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))"
)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MOST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
"""Halves of characters: no text can be sent that has one by itself."""
_MOST_NEGATED = 1 << 63
_MOST_UINT = (1 << 64) - 1


class CelSyntaxError(ValueError):
    """A text that is no expression."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    """name, sign, value or end."""
    text: str
    value: Any = None
    at: int = 0


def tokens(text: str) -> Iterator[Token]:
    """All words and an end. Raises CelSyntaxError."""
    if len(text) > LONGEST_TEXT:
        raise CelSyntaxError(f"an expression may have at most {LONGEST_TEXT} characters")
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise CelSyntaxError(f"Syntax error: token recognition error at: {text[place]!r}")
        if found.lastgroup != "space":
            yield _token(found.lastgroup or "", found[0], place)
        place = found.end()
    yield Token("end", "<EOF>", at=place)


def _token(kind: str, text: str, at: int) -> Token:
    match kind:
        case "text":
            return Token("value", text, _text_value(text), at)
        case "float":
            return Token("value", text, float(text), at)
        case "int":
            return Token("value", text, _int_value(text), at)
        case "quoted":
            return Token("quoted", text[1:-1], at=at)
        case _:
            return Token(kind, text, at=at)


def _int_value(text: str) -> int:
    digits = text.rstrip("uU")
    value = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    is_unsigned = digits != text
    # A sign comes before the literal: the least number is one that is negated.
    if value > (_MOST_UINT if is_unsigned else _MOST_NEGATED):
        raise CelSyntaxError(f"Syntax error: invalid {'u' * is_unsigned}int literal")
    return UInt(value) if is_unsigned else value


def _text_value(text: str) -> str | bytes:
    body = text.lstrip("rRbB")
    prefix = text[: len(text) - len(body)].lower()
    quote = 3 if body[:3] in ('"""', "'''") else 1
    content = body[quote:-quote]
    if "r" not in prefix:
        content = _ESCAPE.sub(_unescaped, content)
    return content.encode() if "b" in prefix else content


def _unescaped(found: re.Match[str]) -> str:
    plain, *codes, octal, wrong = found.groups()
    if plain is not None:
        return _PLAIN.get(plain, plain)
    if wrong is not None:
        raise CelSyntaxError(f"Syntax error: unknown escape sequence: \\{wrong}")
    value = int(octal, 8) if octal else int(next(code for code in codes if code), 16)
    if value > _MOST_CODE_POINT or value in _SURROGATES:
        raise CelSyntaxError("Syntax error: invalid unicode code point")
    return chr(value)
