"""Simulate seeds, or replay a scenario: `python -m tools.sim run`, `python -m tools.sim replay`.

    make sim SEEDS=100 FIRST=1
    make replay SCENARIO=sim-17.yaml
    make replay SEED=17

`run` ends with 1 if a seed fails: a violation that is not known, an exception, or a run that does
not end. Then the first failing seed is shrunk and written to a file, and its timeline is printed.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from plimsoll.simulator.failures.shrink import events_of, shrink
from plimsoll.simulator.failures.timeline import MANY_LINES, timeline
from plimsoll.simulator.run import RunVerdict
from plimsoll.simulator.scenario.file import dump, load
from plimsoll.simulator.scenario.generate import generate
from plimsoll.simulator.scenario.scenario import Scenario
from plimsoll.simulator.scenario.strict import ScenarioError
from tools.sim.tally import Tally, is_failing, signature, told
from tools.sim.workers import Crash, Outcome, Run, cores, outcome, outcomes

PROGRESS_EVERY = 10


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "run":
        return sweep(options)
    return replay(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.sim", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="simulate a range of seeds")
    run.add_argument("--seeds", type=int, default=20, help="how many")
    run.add_argument("--first", type=int, default=1, help="the first seed")
    run.add_argument("--jobs", type=int, default=cores(), help="runs at the same time")
    run.add_argument("--no-shrink", action="store_true", help="do not make a failing seed shorter")
    run.add_argument("--runs", type=int, default=60, help="runs at most, to make it shorter")
    run.add_argument("--into", type=Path, default=Path(), help="where a failing scenario goes")
    again = commands.add_parser("replay", help="play one scenario, and tell what happens")
    again.add_argument("scenario", type=Path, nargs="?", help="a scenario file")
    again.add_argument("--seed", type=int, help="the scenario of this seed instead")
    again.add_argument("--all", action="store_true", help="tell every line but heartbeats")
    return parser


# Many seeds


def sweep(options: argparse.Namespace) -> int:
    tally, seeds = Tally(), range(options.first, options.first + options.seeds)
    try:
        for number in _played(seeds, options.jobs, tally):
            if number % PROGRESS_EVERY == 0 and number < len(seeds):
                _say(f"… {number} of {len(seeds)}: {tally}")
    except KeyboardInterrupt:
        _say(f"interrupted: {tally}")
        return 130
    _say(str(tally))
    first = tally.first_failing
    if first is None:
        return 0
    if not options.no_shrink:
        _explain(first, options)
    return 1


def _played(seeds: range, jobs: int, tally: Tally) -> Iterator[int]:
    """Plays the seeds; yields how many have ended."""
    runs = (Run(seed=seed) for seed in seeds)
    left = set(seeds)
    try:
        with closing(outcomes(runs, jobs=jobs)) as ended:
            for number, each in enumerate(ended, 1):
                tally.add(each)
                left.discard(each.seed)
                if is_failing(each):
                    _say(told(each))
                yield number
    except KeyboardInterrupt:
        first, last = min(left), seeds[-1]
        _say(f"go on with: make sim FIRST={first} SEEDS={last - first + 1}")
        raise


# One failing seed


def _explain(failing: Outcome, options: argparse.Namespace) -> None:
    """Make its scenario short, write that to a file, and tell its timeline."""
    whole, looked_for = generate(failing.seed), signature(failing)
    _say(f"seed {failing.seed} has {len(events_of(whole))} events; making it shorter …")

    def fails(candidate: Scenario) -> bool:
        found = outcome(Run(seed=candidate.seed, scenario=candidate))
        return not looked_for.isdisjoint(signature(found))

    shrunk = shrink(whole, fails, most_runs=options.runs)
    path = options.into / f"sim-{failing.seed}.yaml"
    path.write_text(dump(shrunk.smallest))
    _say(f"{len(events_of(shrunk.smallest))} events are left after {shrunk.runs} runs")
    _tell(outcome(Run(seed=failing.seed, scenario=shrunk.smallest, keeps_lines=True)))
    _say(f"replay it with: make replay SCENARIO={path}")


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
