"""One scenario for each process, on all cores.

A process of its own for each run means that no run sees what an earlier one left in memory, and
that a run which crashes or never ends is a result like any other.
"""

import gc
import logging
import multiprocessing
import os
import resource
import signal
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess

from plimsoll.simulator.run import RunVerdict, run_scenario
from plimsoll.simulator.scenario.generate import generate
from plimsoll.simulator.scenario.scenario import Scenario

CPU_SECONDS = 300
"""More than any seed needs, many times."""
PRELOADED = ["tools.sim.workers"]
WARMED = [*PRELOADED, "tools.sim.warmed"]

Plant = Callable[[], None]
"""Changes the program in a worker before the run: tests plant bugs this way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """A run without a verdict."""

    seed: int
    kind: str
    """The same for all crashes of one cause."""
    message: str


Outcome = RunVerdict | Crash


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    seed: int
    scenario: Scenario | None = None
    """None: the one that the seed generates."""
    plant: Plant | None = None
    keeps_lines: bool = False
    cpu_seconds: int = CPU_SECONDS
    """After so much processor time, it counts as a run that does not end."""


@dataclass(frozen=True, slots=True)
class _Worker:
    run: Run
    process: ForkServerProcess
    answers: "Connection[Outcome, Outcome]"


multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)


def cores() -> int:
    return len(os.sched_getaffinity(0))


def outcomes(runs: Iterable[Run], *, jobs: int = 0) -> Generator[Outcome, None, None]:
    """In the order in which they end. Closing the iterator ends what still runs."""
    with closing(played(runs, jobs=jobs)) as ended:
        for _, found in ended:
            yield found


def played(runs: Iterable[Run], *, jobs: int = 0) -> Generator[tuple[Run, Outcome], None, None]:
    """As `outcomes`, each with its run."""
    waiting = iter(runs)
    working: dict[int, _Worker] = {}
    try:
        while True:
            while len(working) < (jobs or cores()) and (run := next(waiting, None)) is not None:
                with _uninterrupted():
                    worker = _begun(run)
                    working[worker.answers.fileno()] = worker
            if not working:
                return
            for answers in wait([worker.answers for worker in working.values()]):
                assert isinstance(answers, Connection)
                worker = working.pop(answers.fileno())
                yield worker.run, _ended(worker)
    finally:
        for worker in working.values():
            worker.process.kill()
            worker.process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals wait: a worker that is started, and not known yet, would be left behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def outcome(run: Run) -> Outcome:
    return next(outcomes([run], jobs=1))


def warm_up() -> None:
    """Play once what all workers are forked from: for many runs. To be called before the first."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(WARMED)


def _begun(run: Run) -> _Worker:
    context = multiprocessing.get_context("forkserver")
    answers, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(run, send))
    process.start()
    send.close()  # so that the end of the worker is the end of its pipe
    return _Worker(run, process, answers)


def _ended(worker: _Worker) -> Outcome:
    try:
        found = worker.answers.recv()
    except EOFError:
        found = None
    worker.process.join()
    worker.answers.close()
    return found or _death(worker.run, worker.process.exitcode)


def _death(run: Run, exit_code: int | None) -> Crash:
    if exit_code == -signal.SIGXCPU:
        message = f"it took more than {run.cpu_seconds} s of processor time"
        return Crash(seed=run.seed, kind="hang", message=message)
    message = f"its process ended with exit code {exit_code}"
    return Crash(seed=run.seed, kind="death", message=message)


def _work(run: Run, send: "Connection[Outcome, Outcome]") -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (run.cpu_seconds, run.cpu_seconds + 10))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    logging.disable(logging.CRITICAL)
    gc.disable()  # what is left of the simulation goes with the process
    send.send(_outcome_here(run))
    send.close()
    os._exit(0)  # what is left of the simulation need not be taken down


def _outcome_here(run: Run) -> Outcome:
    try:
        if run.plant is not None:
            run.plant()
        scenario = run.scenario or generate(run.seed)
        return run_scenario(scenario, keeps_lines=run.keeps_lines)
    except Exception as error:  # noqa: BLE001 - whatever it is, the seed fails
        return Crash(seed=run.seed, kind=type(error).__name__, message=traceback.format_exc())
