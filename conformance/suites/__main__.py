"""`make suites`: Kubernetes' own tests pass on our API server, and with our scheduler.

Exit code 0: every test that ran passed, or there is no Go to build them with (then it says so).
Exit code 1: a test failed, or did not end. What was left out is named with its reason.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from conformance import peers
from conformance.suites.build import build_suite
from conformance.suites.report import report
from conformance.suites.run import run_suite
from conformance.suites.scheduling import SCHEDULER
from conformance.suites.serving import SERVER
from conformance.suites.subject import Subject

SUBJECTS = {subject.name: subject for subject in (SERVER, SCHEDULER)}


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance.suites", description=__doc__)
    parser.add_argument("--on", choices=(*SUBJECTS,), help="only suites on this part of ours")
    parser.add_argument("--suite", default="", help="only suites whose name contains this")
    parser.add_argument("--run", default="", help="only tests that match this pattern of Go's")
    parser.add_argument("--logs", type=Path, help="keep what the suites print in this directory")
    return parser.parse_args()


def chosen(on: str | None, suite: str) -> list[tuple[Subject, str]]:
    return [
        (subject, name)
        for subject in SUBJECTS.values()
        if on in {None, subject.name}
        for name in subject.suites
        if suite in name
    ]


def run(subject: Subject, name: str, logs: Path, only: str) -> bool:
    program = build_suite(subject, name, lambda text: print(text, flush=True))
    log = logs / f"{subject.name}_{name.replace('/', '_')}.log"
    outcome = run_suite(program, log, subject.suites[name], only)
    for line in report(f"{subject.name}: {name}", outcome, subject.suites[name]):
        print(line, flush=True)
    return outcome.is_good


def main() -> int:
    arguments = parsed_arguments()
    wanted = chosen(arguments.on, arguments.suite)
    if not wanted:
        names = dict.fromkeys(name for subject in SUBJECTS.values() for name in subject.suites)
        print(f"no suite is called {arguments.suite!r}; there are {', '.join(names)}")
        return 2
    with tempfile.TemporaryDirectory(prefix="plimsoll-suites-") as temporary:
        logs = arguments.logs or Path(temporary)
        logs.mkdir(parents=True, exist_ok=True)
        try:
            good = [run(subject, name, logs, arguments.run) for subject, name in wanted]
        except peers.PeersUnavailableError as error:
            print(f"suites skipped: {error}")
            return 0
        except peers.BuildFailedError as error:
            print(error)
            return 1
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
