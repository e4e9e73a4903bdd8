"""JSON patch (RFC 6902) as Kubernetes clients know it.

Where it is more lenient than the RFC, clients rely on it: `replace` may name a key that an object
does not have yet, indices may count from the end of a list (-1 is the last element, or the place
after it for `add`), a missing `value` is null, and what precedes the first slash is ignored.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from plimsoll.api.patch.documents import clone, identical
from plimsoll.api.patch.errors import inapplicable, malformed, too_large
from plimsoll.api.registry import Document

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

_FIELDS = ("op", "path", "from", "value")
_INDEX = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)


def apply(document: Any, operations: Any) -> Any:
    """The document after all operations; one that fails undoes the others."""
    listed = _operations(operations)
    patching = _Patching(clone(document))
    for operation in listed:
        patching.run(operation)
    return clone(patching.root)  # nesting may have grown operation by operation: bound it again


def unknown_fields(operations: Any) -> list[str]:
    """Members of operations that mean nothing, in the words of strict field validation.

    What is not a JSON patch at all has none: `apply` refuses it.
    """
    listed = operations if isinstance(operations, list) else []
    return [
        f'json patch unknown field "[{number}].{name}"'
        for number, operation in enumerate(listed)
        if isinstance(operation, dict)
        for name in operation
        if name not in _FIELDS
    ]


def _operations(operations: Any) -> list[Document]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise malformed("error decoding patch: a JSON patch is a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, "
            f"got {len(operations)}"
        )
    for operation in operations:
        _check_shape(operation)
    return [operation or {} for operation in operations]


def _check_shape(operation: Any) -> None:
    if operation is None:
        return
    if not isinstance(operation, dict):
        raise malformed("error decoding patch: an operation is a JSON object")
    for name in ("op", "path", "from"):
        if not isinstance(operation.get(name, ""), str | None):
            raise malformed(f"error decoding patch: {name} is a string")


class _Patching:
    """One document on its way through a list of operations."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied_bytes = 0
        self._verbs: dict[str, Callable[[Document], None]] = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }

    def run(self, operation: Document) -> None:
        name = operation.get("op") or "unknown"
        verb = self._verbs.get(name)
        if verb is None:
            raise inapplicable(f"unexpected kind of operation: {name}")
        verb(operation)

    def _add(self, operation: Document) -> None:
        container, key = self._find(_pointer(operation, "path"))
        _insert(container, key, clone(operation.get("value")))

    def _remove(self, operation: Document) -> None:
        container, key = self._find(_pointer(operation, "path"))
        _take(container, key)

    def _replace(self, operation: Document) -> None:
        path, value = _pointer(operation, "path"), clone(operation.get("value"))
        if path == "":
            if not isinstance(value, dict | list):
                raise inapplicable("a whole document is replaced by an object or a list")
            self.root = value
            return
        container, key = self._find(path)
        if isinstance(container, list):
            container[_position(container, key)] = value
        else:
            container[key] = value

    def _move(self, operation: Document) -> None:
        source, key = self._find(_pointer(operation, "from"))
        value = _take(source, key)
        target, key = self._find(_pointer(operation, "path"))
        _insert(target, key, value)

    def _copy(self, operation: Document) -> None:
        source, key = self._find(_pointer(operation, "from"))
        value = clone(_look_up(source, key))
        target, key = self._find(_pointer(operation, "path"))
        self._copied_bytes += len(msgspec.json.encode(value)) if value is not None else 0
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise inapplicable(
                f"copies made by the patch take {self._copied_bytes} bytes, "
                f"more than the {MAX_COPIED_BYTES} allowed"
            )
        _insert(target, key, value)

    def _test(self, operation: Document) -> None:
        path = _pointer(operation, "path")
        actual = self.root if path == "" else _look_up(*self._find(path))
        if not identical(actual, operation.get("value")):
            raise inapplicable(f"testing value {path} failed")

    def _find(self, path: str) -> tuple[Any, str]:
        """The container that the pointer's last step goes into, and that step."""
        _, *steps = path.split("/")
        if not steps:
            raise inapplicable(f'the document is missing the path "{path}"')
        container = self.root
        for step in steps[:-1]:
            container = _look_up(container, _unescaped(step))
            if not isinstance(container, dict | list):
                raise inapplicable(f'the document is missing the path "{path}"')
        return container, _unescaped(steps[-1])


def _pointer(operation: Document, name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise inapplicable(f"the operation has no {name}")
    return pointer


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _look_up(container: Any, key: str) -> Any:
    """A missing key of an object reads as null."""
    if isinstance(container, list):
        return container[_position(container, key)]
    return container.get(key)


def _take(container: Any, key: str) -> Any:
    if isinstance(container, list):
        return container.pop(_position(container, key))
    if key not in container:
        raise inapplicable(f"unable to remove nonexistent key: {key}")
    return container.pop(key)


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_position(container, key, places=len(container) + 1), value)


def _position(container: list[Any], key: str, places: int | None = None) -> int:
    """The index that `key` means among `places` positions, by default those that exist."""
    places = len(container) if places is None else places
    if not _INDEX.fullmatch(key):
        raise inapplicable(f"not a list index: {key}")
    index = int(key)
    if not -places <= index < places:
        raise inapplicable(f"unable to access invalid index: {index}")
    return index + places if index < 0 else index
