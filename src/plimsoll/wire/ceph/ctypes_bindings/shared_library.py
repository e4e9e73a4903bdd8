"""A shared library: its functions with their types, errors as exceptions, answers of any size."""

import ctypes
import errno
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from plimsoll.wire.ceph.ctypes_bindings.library_errors import library_error

S = TypeVar("S", bound=ctypes.Structure)

Signature = Sequence[Any]
"""The type that is returned, or None, then those of the arguments."""
FIRST_SIZE = 256
"""Bytes of a buffer; a larger one is tried when the answer does not fit."""
FIRST_COUNT = 16


class SharedLibrary:
    def __init__(self, name: str, signatures: Mapping[str, Signature]) -> None:
        """Raises ImportError: it is not installed, or lacks a function."""
        try:
            loaded = ctypes.CDLL(name)
            self._functions = {
                function: _typed(loaded, function, types) for function, types in signatures.items()
            }
        except (OSError, AttributeError) as error:
            raise ImportError(str(error), name=name) from error

    def call(self, function: str, *arguments: Any) -> int:
        """What it returns, if that is not negative. Raises LibraryError."""
        code = self.code(function, *arguments)
        if code < 0:
            raise library_error(code, function)
        return code

    def code(self, function: str, *arguments: Any) -> int:
        """What it returns, also if that tells of an error."""
        code: int = self._functions[function](*arguments)
        return code

    def run(self, function: str, *arguments: Any) -> None:
        """One that cannot fail."""
        self._functions[function](*arguments)

    def made(self, function: str) -> ctypes.c_void_p:
        """What the function makes, which cannot fail."""
        return ctypes.c_void_p(self._functions[function]())

    def filled(self, function: str, *arguments: Any) -> bytes:
        """What it writes to a buffer, whose place and size are its last arguments; not cut off. It
        returns how much that is, or zero if it ends a text with zero. Raises LibraryError."""
        size = FIRST_SIZE
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = self.code(function, *arguments, buffer, size)
            # Some functions cut off what does not fit, and say nothing.
            if length == -errno.ERANGE or length >= size:
                size *= 2
            elif length < 0:
                raise library_error(length, function)
            else:
                return buffer.raw[:length] if length else buffer.value

    def listed(
        self, function: str, kind: type[S], count: Any, *arguments: Any
    ) -> "ctypes.Array[S]":
        """What it writes to an array, whose place and size are its last arguments. It puts into the
        size how much it needs, or how much there was. Raises LibraryError."""
        room = FIRST_COUNT
        while True:
            array = (kind * room)()
            count.value = room
            code = self.code(function, *arguments, array, ctypes.byref(count))
            if code >= 0:
                return array
            if code != -errno.ERANGE:
                raise library_error(code, function)
            # There may be more by the time that it is asked again.
            room = max(2 * room, count.value)


class Releasable(ABC):
    """What a library has made, and takes back at the end of a `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self.release()

    @abstractmethod
    def release(self) -> None: ...


def copied(begin: ctypes.c_void_p, size: ctypes.c_size_t) -> bytes:
    """What the library keeps there."""
    return ctypes.string_at(begin, size.value) if begin.value else b""


def _typed(library: ctypes.CDLL, name: str, types: Signature) -> Any:
    function = getattr(library, name)
    function.restype, *function.argtypes = types
    return function


def texts(given: Sequence[bytes]) -> tuple[Any, Any]:
    """As C has them: where each begins, and how long it is."""
    number = len(given)
    return (ctypes.c_char_p * number)(*given), (ctypes.c_size_t * number)(*map(len, given))
