"""The program after it has played once: workers that are forked from it begin at full speed.

Importing this plays one seed. Tables are read by then, decoders are made, and the interpreter has
adapted its code, which every worker would do for itself otherwise. No run tells another what it
did, so traces are the same with and without.
"""

import gc
import logging
import signal
from types import FrameType
from typing import NoReturn

from plimsoll.simulator.run import run_scenario
from plimsoll.simulator.scenario.generate import generate

SEED = 4
"""A short one; what it leaves out costs little."""
CPU_SECONDS = 30.0
"""More than it needs, many times: a program that hangs is found by the seeds that are asked for."""


class _TookTooLongError(Exception):
    pass


def _give_up(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _TookTooLongError


def _play_once() -> None:
    """Whatever goes wrong here goes wrong in the runs too, which tell of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends what it started
    before = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    logging.disable(logging.CRITICAL)
    gc.disable()
    try:
        run_scenario(generate(SEED))
    except Exception:  # noqa: BLE001, S110 - see above
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
        logging.disable(logging.NOTSET)
        gc.collect()
        gc.enable()


_play_once()
