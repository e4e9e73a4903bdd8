"""Calls that are inside a library, counted until they return, also those that were given up."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")


class RunningCalls:
    def __init__(self) -> None:
        self._running = 0
        self._changed = threading.Condition()

    def counted(self, function: Callable[[], T]) -> Callable[[], T]:
        """The same function, which counts as running from now until it has returned. It has to be
        called, once."""
        with self._changed:
            self._running += 1

        def call() -> T:
            try:
                return function()
            finally:
                with self._changed:
                    self._running -= 1
                    self._changed.notify_all()

        return call

    def end_within(self, limit: timedelta) -> bool:
        """Waits until none is running. False: some still are when the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: self._running == 0, limit.total_seconds())
