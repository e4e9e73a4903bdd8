"""What the processes of a simulation log: bugs for its verdict, everything for readers.

A loop that fails is logged with what it raised, and started again, so that no invariant would fail.
An error that is logged together with an exception therefore counts as a bug of the process. Errors
without one tell of what administrators have to mend.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from plimsoll.simulator.engine.loop import OWNER
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.engine.trace import Trace

ORDINARY_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

OnBug = Callable[[str, BaseException], None]
"""Told the name of the process, and what it caught."""


class _ToTrace(logging.Handler):
    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.INFO)
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        fields = {k: v for k, v in vars(record).items() if k not in ORDINARY_FIELDS}
        told = "".join(f" {key}={value}" for key, value in fields.items())
        self._trace.note(_sender(), f"[{record.levelname.lower()}] {record.getMessage()}{told}")


class _ToVerdict(logging.Handler):
    def __init__(self, on_bug: OnBug) -> None:
        super().__init__(logging.ERROR)
        self._on_bug = on_bug

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._on_bug(_sender(), error)


def _sender() -> str:
    owner = OWNER.get()
    return owner.name if isinstance(owner, SimulatedProcess) else "simulation"


@contextmanager
def logged(trace: Trace, on_bug: OnBug) -> Iterator[None]:
    """What is logged in the block: bugs, and from INFO on all that a trace with lines can keep."""
    root, handlers = logging.getLogger("plimsoll"), [_ToVerdict(on_bug), _ToTrace(trace)]
    level = logging.INFO if trace.keeps_lines else logging.ERROR
    before, disabled = root.level, logging.root.manager.disable
    logging.disable(level - 1)
    root.setLevel(level)
    for handler in handlers:
        root.addHandler(handler)
    propagated, root.propagate = root.propagate, False
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
        root.setLevel(before)
        root.propagate = propagated
        logging.disable(disabled)
