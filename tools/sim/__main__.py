"""Simulate seeds, or replay a scenario: `python -m tools.sim run`, `python -m tools.sim replay`.

    make sim SEEDS=100 FIRST=1
    make replay SCENARIO=sim-17.yaml
    make replay SEED=17

`run` ends with 1 if a seed fails: a violation that is not known, an exception, or a run that does
not end. Then the first failing seed is shrunk and written to a file, and its timeline is printed.
SIGINT and SIGTERM end the runs that are under way; what is left of the range is told then.
"""

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import NoReturn

from plimsoll.simulator.cluster.shape import ClusterShape
from plimsoll.simulator.failures.shrink import Shrinking, events_of, shrink
from plimsoll.simulator.failures.timeline import MANY_LINES, timeline
from plimsoll.simulator.run import RunVerdict
from plimsoll.simulator.scenario.file import dump, load
from plimsoll.simulator.scenario.generate import generate
from plimsoll.simulator.scenario.scenario import Scenario
from plimsoll.simulator.scenario.strict import ScenarioError
from tools.sim.tally import Tally, is_failing, ranges, signature, told
from tools.sim.workers import Crash, Outcome, Run, cores, outcome, outcomes, played, warm_up

PROGRESS_SEEDS, PROGRESS_SECONDS = 10, 30.0
MANY_SEEDS = 30
"""For so many it pays to play one more, once, before workers are forked."""
INTERRUPTED = 128 + signal.SIGINT
"""The exit code, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return sweep(options) if options.command == "run" else replay(options)
    except KeyboardInterrupt:
        return INTERRUPTED


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM is as good as SIGINT: workers have to be ended."""
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.sim", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="simulate a range of seeds")
    run.add_argument("--seeds", type=int, default=20, help="how many")
    run.add_argument("--first", type=int, default=1, help="the first seed")
    run.add_argument("--takeovers", action="store_true", help="those in which a zone is taken over")
    run.add_argument("--on-nodes", action="store_true", help="those with provisioners on each node")
    run.add_argument("--jobs", type=int, default=cores(), help="runs at the same time")
    run.add_argument("--no-shrink", action="store_true", help="do not make a failing seed shorter")
    run.add_argument("--runs", type=int, default=100, help="runs at most, to make it shorter")
    run.add_argument("--minutes", type=float, default=2.5, help="at most, to make it shorter")
    run.add_argument("--into", type=Path, default=Path(), help="where a failing scenario goes")
    again = commands.add_parser("replay", help="play one scenario, and tell what happens")
    again.add_argument("scenario", type=Path, nargs="?", help="a scenario file")
    again.add_argument("--seed", type=int, help="the scenario of this seed instead")
    again.add_argument("--all", action="store_true", help="tell every line but heartbeats")
    return parser


# Many seeds


def sweep(options: argparse.Namespace) -> int:
    tally, seeds = Tally(), _chosen(options)
    try:
        _say(f"{ranges(seeds)}, {options.jobs} at a time")
        if len(seeds) >= MANY_SEEDS:
            warm_up()
        _play(seeds, options.jobs, tally)
    except KeyboardInterrupt:
        _say(f"interrupted: {tally}")
        _say(f"done are {ranges(tally.seeds)}; {_rest(seeds, tally, options)}")
        raise
    _say(str(tally))
    first = tally.first_failing
    if first is None:
        return 0
    if not options.no_shrink:
        _explain(first, options)
    return 1


def _chosen(options: argparse.Namespace) -> Sequence[int]:
    if not (options.takeovers or options.on_nodes):
        return range(options.first, options.first + options.seeds)
    fitting = (seed for seed in count(options.first) if _is_chosen(generate(seed).cluster, options))
    return tuple(islice(fitting, options.seeds))


def _is_chosen(cluster: ClusterShape, options: argparse.Namespace) -> bool:
    is_on_nodes = any(driver.on_each_node for driver in cluster.drivers)
    takes_part = bool(cluster.takeover) or not options.takeovers
    return takes_part and (is_on_nodes or not options.on_nodes)


def _play(seeds: Sequence[int], jobs: int, tally: Tally) -> None:
    """With a line about how far it is, from time to time."""
    told_at = monotonic()
    with closing(outcomes((Run(seed=seed) for seed in seeds), jobs=jobs)) as ended:
        for each in ended:
            tally.add(each)
            if is_failing(each):
                _say(told(each))
            number, now = len(tally.seeds), monotonic()
            is_due = number % PROGRESS_SEEDS == 0 or now - told_at > PROGRESS_SECONDS
            if is_due and number < len(seeds):
                _say(f"… {number} of {len(seeds)}: {tally}")
                told_at = now


def _rest(seeds: Sequence[int], tally: Tally, options: argparse.Namespace) -> str:
    """How to go on: with all seeds from the first one on that has not ended."""
    first = min(set(seeds) - set(tally.seeds), default=seeds[-1] + 1)
    left = sum(each >= first for each in seeds)
    flags = {"--takeovers": options.takeovers, "--on-nodes": options.on_nodes}
    chosen = " ".join(flag for flag, is_given in flags.items() if is_given)
    more = f' SIM="{chosen}"' if " " in chosen else f" SIM={chosen}" if chosen else ""
    return f"go on with: make sim FIRST={first} SEEDS={left}{more}"


# One failing seed


def _explain(failing: Outcome, options: argparse.Namespace) -> None:
    """Make its scenario short, write that to a file, and tell its timeline."""
    whole, looked_for = generate(failing.seed), signature(failing)
    _say(f"seed {failing.seed} has {len(events_of(whole))} events; making it shorter …")
    end = monotonic() + options.minutes * 60

    def find_failing(candidates: Iterable[Scenario]) -> Scenario | None:
        runs = (Run(seed=each.seed, scenario=each) for each in candidates)
        with closing(played(runs, jobs=options.jobs)) as ended:
            for run, found in ended:
                if not looked_for.isdisjoint(signature(found)):
                    return run.scenario
        return None

    shrinking = Shrinking(whole, find_failing, options.runs, is_over=lambda: monotonic() > end)
    path = options.into / f"sim-{failing.seed}.yaml"
    try:
        shrink(shrinking)
    finally:  # also when it is interrupted
        smallest = shrinking.smallest
        path.write_text(dump(smallest))
        _say(f"{len(events_of(smallest))} events are left after {shrinking.runs} runs")
        _say(f"replay it with: make replay SCENARIO={path}")
    _tell(outcome(Run(seed=failing.seed, scenario=smallest, keeps_lines=True)))


def replay(options: argparse.Namespace) -> int:
    if (options.scenario is None) == (options.seed is None):
        _say("give either a scenario file or --seed")
        return 2
    try:
        scenario = generate(options.seed) if options.scenario is None else load(options.scenario)
    except ScenarioError as error:
        _say(str(error))
        return 2
    found = outcome(Run(seed=scenario.seed, scenario=scenario, keeps_lines=True))
    _tell(found, most=0 if options.all else MANY_LINES)
    return int(is_failing(found))


def _tell(found: Outcome, *, most: int = MANY_LINES) -> None:
    if isinstance(found, RunVerdict):
        for line in timeline(found.lines, most=most):
            _say(line)
    _say(told(found) if is_failing(found) else f"seed {found.seed}: nothing is violated")
    if isinstance(found, Crash):
        _say("a run without a verdict has no timeline")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
