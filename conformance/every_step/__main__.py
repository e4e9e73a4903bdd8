"""`make kills-every-step`: each process is killed at each of its steps.

Exit code 0: nothing leaked, nothing was made twice, no used volume was deleted.
"""

import argparse
import sys

from conformance.every_step import walk
from conformance.every_step.cluster import PROCESSES
from conformance.every_step.paths import PATHS
from conformance.every_step.trap import KillMoment


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.every_step", description=__doc__)
    parser.add_argument("--seconds", type=float, help="a sample of the steps, for so long")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--path", help="only paths whose name has this in it")
    parser.add_argument("--victim", choices=PROCESSES, action="append")
    parser.add_argument("--moment", choices=[*KillMoment], action="append")
    parser.add_argument("--first", type=int, default=1, help="the number of the first step")
    given = parser.parse_args()
    kills = walk.sampled_kills(given.seed) if given.seconds else walk.every_kill(PATHS)
    wanted = (
        kill
        for kill in kills
        if (given.path or "") in kill.path.name
        and kill.victim in (given.victim or PROCESSES)
        and kill.moment in (given.moment or KillMoment)
        and kill.number >= given.first
    )
    try:
        walk.run(wanted, _say, given.seconds or float("inf"))
    except AssertionError as error:
        sys.exit(f"failed: {error}")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
