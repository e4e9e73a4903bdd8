"""What the processes of a simulation log, put into its trace for readers."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from plimsoll.simulator.engine.loop import OWNER
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.engine.trace import Trace

ORDINARY_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _ToTrace(logging.Handler):
    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.INFO)
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        owner = OWNER.get()
        name = owner.name if isinstance(owner, SimulatedProcess) else "simulation"
        fields = {k: v for k, v in vars(record).items() if k not in ORDINARY_FIELDS}
        told = "".join(f" {key}={value}" for key, value in fields.items())
        self._trace.note(name, f"[{record.levelname.lower()}] {record.getMessage()}{told}")


@contextmanager
def logged(trace: Trace) -> Iterator[None]:
    """All that is logged in the block, from INFO on."""
    root, handler = logging.getLogger("plimsoll"), _ToTrace(trace)
    before, disabled = root.level, logging.root.manager.disable
    logging.disable(logging.NOTSET)
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    propagated, root.propagate = root.propagate, False
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        root.propagate = propagated
        logging.disable(disabled)
