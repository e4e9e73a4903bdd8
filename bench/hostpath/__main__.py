"""`make bench-hostpath`: pods at once on nodes whose storage has exactly the room for them.

By the default policy, by kube-scheduler's rules (compatible), and by these without published
capacity (untracked). Workload D tells what it costs to make the volumes of a pod together. Exit
code 0: by the default policy all pods ran, and no call of CreateVolume failed.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from conformance.programs import DiedError

from bench.hostpath.play import Played, play
from bench.hostpath.plot import svg
from bench.hostpath.report import is_promise_kept, last_line, table
from bench.hostpath.workload import LOADS, SETTINGS, settings_of

TIME_LIMIT = 1800.0
INTERRUPTED = 130


def parsed_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.hostpath", description=__doc__)
    parser.add_argument("--scale", type=_scale, default=1.0, help="of the pods on each node")
    parser.add_argument("--only", type=_some_of(LOADS), default=tuple(LOADS), help="A,B,C,D")
    parser.add_argument(
        "--settings",
        type=_some_of(SETTINGS),
        default=tuple(SETTINGS),
        help=",".join(SETTINGS),
    )
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, help="seconds, for each row of the table"
    )
    parser.add_argument("--plot", type=Path, help="write pods over time into this file, as SVG")
    return parser.parse_args(given)


def _scale(text: str) -> float:
    scale = float(text)
    if not scale > 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return scale


def _some_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    def chosen(text: str) -> tuple[str, ...]:
        names = text.split(",")
        if unknown := sorted(set(names) - set(known)):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: known are {', '.join(known)}")
        return tuple(name for name in known if name in names)

    return chosen


def remark(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def play_all(arguments: argparse.Namespace) -> list[Played]:
    settings = tuple(SETTINGS[name] for name in arguments.settings)
    loads = [LOADS[name].scaled(arguments.scale) for name in arguments.only]
    return [
        play(load, setting, arguments.time_limit, remark)
        for load in loads
        for setting in settings_of(load, settings)
    ]


def main() -> int:
    arguments = parsed_arguments()
    # As Ctrl-C: the processes of the cluster are ended, and its directory is removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        played = play_all(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except DiedError as error:
        sys.exit(f"a process of the cluster has ended: {error}")
    if arguments.plot is not None and played:
        arguments.plot.write_text(svg(played))
    for line in table(played):
        print(line)
    print(last_line(played))
    return 0 if is_promise_kept(played) else 1


if __name__ == "__main__":
    sys.exit(main())
