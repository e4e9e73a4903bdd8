"""What has changed since a reader last looked, so that the results that it worked out can be kept.

The log remembers a limited number of changes. A reader that asks for older ones is told that
anything may have changed.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

REMEMBERED = 2048

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Log(Generic[K]):
    """Things that changed."""

    def __init__(self) -> None:
        self._forgotten = 0
        self._changed: list[K] = []
        self.position = 0
        """How many changes there were."""

    def mark(self, thing: K) -> None:
        if len(self._changed) >= REMEMBERED:
            half = len(self._changed) // 2
            self._forgotten += half
            del self._changed[:half]
        self._changed.append(thing)
        self.position += 1

    def since(self, position: int) -> set[K] | None:
        """None: too much has changed to tell."""
        if position == self.position:
            return set()
        if position < self._forgotten:
            return None
        return set(self._changed[position - self._forgotten :])

    def fork(self) -> "Log[K]":
        twin: Log[K] = Log()
        twin._forgotten, twin._changed = self._forgotten, self._changed.copy()
        twin.position = self.position
        return twin


ChangeLog = Log[int]
"""Numbers of things that changed: slots, or cells."""


class KeptResults(dict[K, V]):
    """The newest results by what they are about. Beyond the limit the oldest are forgotten."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def keep(self, key: K, result: V) -> V:
        if len(self) >= self._limit and key not in self:
            del self[next(iter(self))]
        self[key] = result
        return result
