"""What is wrong with a selector, worded as the Kubernetes API words it.

Schedulers show these sentences in events, so they carry the values quoted as clients know them.
"""

from collections.abc import Iterable, Sequence

import msgspec

from plimsoll.api.names import (
    DNS_SUBDOMAIN,
    LABEL_VALUE,
    NOT_A_LABEL_VALUE,
    NOT_A_SUBDOMAIN,
    NOT_QUALIFIED,
    QUALIFIED_NAME,
    label_value_errors,
    qualified_name_errors,
)

ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t"} | {
    "\v": r"\v",
    '"': r"\"",
    "\\": r"\\",
}
HTML_ESCAPES = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})


def _with_examples(sentence: str, pattern: str, *examples: str) -> str:
    shown = "".join(f"{' or ' if i else ''}'{text}', " for i, text in enumerate(examples))
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"


LONG_FORMS = {
    sentence: _with_examples(sentence, pattern, *examples)
    for sentence, pattern, *examples in (
        (NOT_QUALIFIED, QUALIFIED_NAME.pattern, "MyName", "my.name", "123-abc"),
        (NOT_A_LABEL_VALUE, LABEL_VALUE.pattern, "MyValue", "my_value", "12345"),
        (f"prefix part {NOT_A_SUBDOMAIN}", DNS_SUBDOMAIN.pattern, "example.com"),
    )
}
TOO_MANY_SLASHES = (
    LONG_FORMS[NOT_QUALIFIED].replace("name part", "a valid label key", 1)
    + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)


def label_key_complaint(path: str, key: str) -> str | None:
    if key.count("/") > 1:
        return invalid(path, key, TOO_MANY_SLASHES)
    return _all_of(path, key, qualified_name_errors(key))


def label_value_complaint(path: str, value: str) -> str | None:
    return _all_of(path, value, label_value_errors(value))


def _all_of(path: str, value: str, errors: list[str]) -> str | None:
    if not errors:
        return None
    return invalid(path, value, "; ".join(LONG_FORMS.get(error, error) for error in errors))


def invalid(path: str, value: str | Sequence[str] | None, detail: str) -> str:
    shown = quoted(value) if isinstance(value, str) else _as_json(value)
    return f"{path}: Invalid value: {shown}: {detail}"


def unsupported(path: str, value: str, supported: Iterable[str]) -> str:
    listed = ", ".join(map(quoted, supported))
    return f"{path}: Unsupported value: {quoted(value)}: supported values: {listed}"


def joined(complaints: Iterable[str]) -> str:
    """One sentence as it is, several in brackets, each once."""
    once = list(dict.fromkeys(complaints))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]"


def quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:  # noqa: PLR2004  ASCII
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004  16 bits


def _as_json(values: Sequence[str] | None) -> str:
    return msgspec.json.encode(values).decode().translate(HTML_ESCAPES)


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
