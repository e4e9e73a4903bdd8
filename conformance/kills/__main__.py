"""`make kills`: a cluster whose processes are killed at random, then a soak of the API server.

Exit code 0: nothing was lost and nothing is left.
"""

import argparse
import os
import sys
import time

from conformance.kills import run, soak

SOAK_SHARE = 0.2
"""How long the soak takes, compared with the kills."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.kills", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of kills")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10_000)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("mounts and loop devices need root")
    seconds = 60 * arguments.minutes
    try:
        run.run(seconds, arguments.seed, _say)
        soak.run(seconds * SOAK_SHARE, arguments.seed, _say)
    except AssertionError as error:
        sys.exit(f"failed: {error}")
    print("nothing was lost, and nothing is left")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
