"""Calls that are inside a library, counted until they return, also those that were given up."""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")


class Progress:
    """Of one call, which tells it from the library's own thread."""

    def __init__(self) -> None:
        self._told = 0
        self._seen = 0

    def tell(self, done: int, all_: int) -> int:  # noqa: ARG002 - that it goes on is enough
        """Answers 0: go on."""
        self._told += 1
        return 0

    def has_gone_on(self) -> bool:
        """Since this was asked last."""
        before, self._seen = self._seen, self._told
        return self._seen != before


class Beginning:
    """Of one call that has to wait before it can begin. Once it is given up it never begins."""

    def __init__(self) -> None:
        self._is_decided = False
        self._changed = threading.Lock()

    def begin(self) -> bool:
        """Said by the thread of the call. False: it was given up."""
        return self._decide()

    def give_up(self) -> bool:
        """False: it has begun."""
        return self._decide()

    def _decide(self) -> bool:
        """Whether this is the first that decides."""
        with self._changed:
            is_first, self._is_decided = not self._is_decided, True
            return is_first


class RunningCalls:
    def __init__(self) -> None:
        self._running: Counter[str] = Counter()
        """By what they work on; empty: they need no name."""
        self._given_up: set[str] = set()
        self._changed = threading.Condition()

    def counted(self, function: Callable[[], T], name: str = "") -> Callable[[], T]:
        """The same function, which counts as running from now until it has returned. It has to be
        called, once."""
        with self._changed:
            self._running[name] += 1

        def call() -> T:
            try:
                return function()
            finally:
                self._end(name)

        return call

    def _end(self, name: str) -> None:
        with self._changed:
            self._running[name] -= 1
            if not self._running[name]:
                self._given_up.discard(name)
            self._changed.notify_all()

    def give_up(self, name: str) -> None:
        """No caller waits any more for the calls of that name."""
        with self._changed:
            if self._running[name]:
                self._given_up.add(name)

    def is_given_up(self, name: str) -> bool:
        """Whether such a call still runs: it may go on at any moment."""
        with self._changed:
            return name in self._given_up

    def end_within(self, limit: timedelta) -> bool:
        """Waits until none is running. False: some still are when the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running.total(), limit.total_seconds())
