"""YAML as the API reads and writes it: JSON in another spelling, read by libyaml within bounds.

Reading takes time and memory in proportion to the text, whatever the text is: nesting, the number
of values and the number of directives are bounded, and aliases, a few of which can stand for more
than fits into memory, are refused. What is read has the types of JSON: a date is a string.
"""

import base64
import re
from typing import Any

import yaml
from yaml.nodes import ScalarNode

from plimsoll.apiserver.model.yaml_scalars import plain_value

MAX_DEPTH = 200
MAX_VALUES = 100_000

_MAX_DIRECTIVES = 10
_MOST_REPEATED = 100
_LONGEST_NUMBER = 100
_TAG = "tag:yaml.org,2002:"
_SCALARS = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "binary"))
_COLLECTIONS = (None, "!", f"{_TAG}map", f"{_TAG}seq")
_MERGE = f"{_TAG}merge"

_LONGEST_SIMPLE_KEY = 100
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that are not text unless they are quoted."""
_SPECIAL = re.compile(r'["\\]|[^\x20-\x7e]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_LAST_OF_FOUR_DIGITS = 0xFFFF


def read(text: bytes, repeated: list[str] | None = None) -> Any:
    """The first document in the text; None when there is none. Raises ValueError.

    What follows it is not looked at, as in a real server. Of a key that is there twice in the same
    mapping, the last one counts; a sentence about it is added to `repeated`.
    """
    # libyaml compares every directive with all others.
    if len(re.findall(rb"^%", text.partition(b"\n---")[0], re.MULTILINE)) > _MAX_DIRECTIVES:
        raise ValueError(f"more than {_MAX_DIRECTIVES} directives")
    loader = yaml.CSafeLoader(text)
    try:
        return _Reader(loader, [] if repeated is None else repeated).document()
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    finally:
        loader.dispose()


class _Reader:
    """Makes values of the parser's events, so that no more is read than the bounds allow."""

    def __init__(self, loader: Any, repeated: list[str]) -> None:
        self._loader = loader
        self._repeated = repeated
        self._values = 0

    def document(self) -> Any:
        self._loader.get_event()  # the stream begins
        if self._loader.check_event(yaml.StreamEndEvent):
            return None
        self._loader.get_event()  # the document begins
        return self._value(self._loader.get_event(), 0)

    def _value(self, event: Any, depth: int) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("aliases are not taken: write each value where it belongs")  # noqa: TRY004 one kind of error for all bad text
        if event.tag not in _COLLECTIONS:
            raise ValueError(f"the tag {event.tag!r} is not known")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        return self._mapping(depth) if is_mapping else self._sequence(depth)

    def _sequence(self, depth: int) -> list[Any]:
        elements = []
        while not isinstance(event := self._loader.get_event(), yaml.SequenceEndEvent):
            elements.append(self._value(event, depth + 1))
        return elements

    def _mapping(self, depth: int) -> dict[str, Any]:
        given: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := self._loader.get_event(), yaml.MappingEndEvent):
            if self._is_merge(event):
                _merge(self._value(self._loader.get_event(), depth + 1), merged)
                continue
            key = _key(self._value(event, depth + 1))
            if key in given and len(self._repeated) < _MOST_REPEATED:
                line = event.start_mark.line + 1
                self._repeated.append(f'yaml: line {line}: key "{key}" already set in map')
            given[key] = self._value(self._loader.get_event(), depth + 1)
        return merged | given if merged else given

    def _is_merge(self, event: Any) -> bool:
        if not isinstance(event, yaml.ScalarEvent):
            return False
        return event.tag == _MERGE or (_is_plain(event) and event.value == "<<")

    def _scalar(self, event: Any) -> Any:
        tag = event.tag
        if tag in (None, "!", f"{_TAG}str"):
            return plain_value(event.value) if _is_plain(event) else event.value
        if tag not in _SCALARS or len(event.value) > _LONGEST_NUMBER:
            raise ValueError(f"a value with the tag {tag!r} cannot be read")
        node = ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        value = self._loader.yaml_constructors[tag](self._loader, node)
        return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _is_plain(event: Any) -> bool:
    """It has no quotes and no tag, and is short enough for a number or a word."""
    return event.tag is None and event.implicit[0] and len(event.value) <= _LONGEST_NUMBER


def _key(value: Any) -> str:
    """JSON has no keys but strings."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case _:
            raise ValueError(f"{value!r} cannot be a key")


def _merge(value: Any, merged: dict[str, Any]) -> None:
    """Adds what `<<` stands for: a mapping, or several. What came first counts most."""
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict):
            raise ValueError("expected a mapping to merge")  # noqa: TRY004 as above
        for key, content in each.items():
            merged.setdefault(key, content)


def write(document: Any) -> bytes:
    """The document in block style, its keys in the order they have."""
    lines: list[str] = []
    if isinstance(document, dict | list) and document:
        _write_block(document, "", lines)
    else:
        lines.append(_flat(document))
    return ("\n".join(lines) + "\n").encode()


def _write_block(value: dict[str, Any] | list[Any], indent: str, lines: list[str]) -> None:
    if isinstance(value, dict):
        for key, member in value.items():
            _write_member(key, member, indent, lines)
        return
    for element in value:
        if not (isinstance(element, dict | list) and element):
            lines.append(f"{indent}- {_flat(element)}")
            continue
        first = len(lines)
        _write_block(element, f"{indent}  ", lines)
        lines[first] = f"{indent}- {lines[first][len(indent) + 2 :]}"


def _write_member(key: str, member: Any, indent: str, lines: list[str]) -> None:
    head = f"{indent}{_text(key)}:"
    if len(key) > _LONGEST_SIMPLE_KEY:
        lines.append(f"{indent}? {_text(key)}")
        head = f"{indent}:"
    if not (isinstance(member, dict | list) and member):
        lines.append(f"{head} {_flat(member)}")
        return
    lines.append(head)
    _write_block(member, indent if isinstance(member, list) else f"{indent}  ", lines)


def _flat(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case float():
            # Without a point it would be read as text.
            text = repr(value)
            return text if "." in text else text.replace("e", ".0e")
        case _:
            return str(value) if isinstance(value, int) else ("[]" if value == [] else "{}")


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    mark = found[0]
    if mark in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[mark]
    code = ord(mark)
    return f"\\u{code:04x}" if code <= _LAST_OF_FOUR_DIGITS else f"\\U{code:08x}"
