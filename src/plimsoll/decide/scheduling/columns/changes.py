"""What has changed since somebody last looked, so that what they worked out can be kept.

The log remembers only so much. Whoever looks too delayed is told that anything may have changed.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

REMEMBERED = 2048

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ChangeLog:
    """Numbers of things that changed: slots, or cells."""

    def __init__(self) -> None:
        self._forgotten = 0
        self._changed: list[int] = []

    @property
    def position(self) -> int:
        return self._forgotten + len(self._changed)

    def mark(self, number: int) -> None:
        if len(self._changed) >= REMEMBERED:
            half = len(self._changed) // 2
            self._forgotten += half
            del self._changed[:half]
        self._changed.append(number)

    def since(self, position: int) -> set[int] | None:
        """None: too much has changed to tell."""
        if position < self._forgotten:
            return None
        return set(self._changed[position - self._forgotten :])

    def fork(self) -> "ChangeLog":
        twin = ChangeLog()
        twin._forgotten, twin._changed = self._forgotten, self._changed.copy()
        return twin


class KeptResult(Generic[K, V]):
    """The newest results by what they are about; the oldest make room."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._results: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: K, make: Callable[[], V]) -> V:
        found = self._results.get(key)
        if found is None:
            if len(self._results) >= self._limit:
                del self._results[next(iter(self._results))]
            found = self._results[key] = make()
        return found

    def clear(self) -> None:
        self._results.clear()
