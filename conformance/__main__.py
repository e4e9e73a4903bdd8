"""`make conformance`: builds the real programs, runs them beside ours, and compares.

Exit code 0: everything agrees, or there is no Go to build the real programs with (then it says
so). Exit code 1: the last line names the step that failed. A step that this machine cannot run is
skipped, with the reason; what was skipped is named again at the end.
"""

import argparse
import contextlib
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from conformance import peers
from conformance.control_plane import NotReadyError, control_plane
from conformance.step import Servers, StepFailedError, StepSkippedError
from conformance.steps import STEPS, print_speed
from conformance.suites import step as suites
from tests.servers import EmbeddedServer, ServerDiedError

SPEED = "speed"
"""Ours beside theirs in figures, which are for developers: only if it is asked for by name."""
SKIPS = (StepSkippedError, peers.NotFoundError)
FAILURES = (StepFailedError, NotReadyError, ServerDiedError, peers.BuildFailedError)


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "--only",
        default="",
        help="run the steps whose name contains this; speed: compare both servers' speed",
    )
    parser.add_argument(
        "--build",
        action="store_true",
        help="build the real programs and Kubernetes' own suites, and compare nothing",
    )
    return parser.parse_args()


@contextlib.contextmanager
def step(name: str, skipped: list[str] | None = None) -> Iterator[None]:
    """Says how the block ended. Steps that may be skipped are noted in the list."""
    print(f"== {name}", flush=True)
    began = time.monotonic()
    try:
        yield
    except SKIPS as reason:
        if skipped is None:
            raise
        print(f"   skipped: {reason}", flush=True)
        skipped.append(name)
        return
    except FAILURES as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__, file=sys.stdout)
        print(f"   FAILED: {name}: {error}", flush=True)
        raise
    print(f"   ok, {time.monotonic() - began:.0f} s", flush=True)


def build_peers() -> None:
    with step(f"build the peers (Kubernetes {peers.KUBERNETES_VERSION})"):
        for peer in peers.ALL:
            print(f"  {peers.build(peer)}")


def build_suites() -> None:
    with step("build Kubernetes' own suites"):
        print(f"  {suites.build(lambda text: print(f'  {text}', flush=True))}")


def run_side_by_side(only: str) -> list[str]:
    """Runs the steps; the names of those that could not be run here."""
    skipped: list[str] = []
    wanted = [each for each in STEPS if only in each.name]
    if not wanted:
        return skipped
    with contextlib.ExitStack() as running:
        directory = Path(
            running.enter_context(tempfile.TemporaryDirectory(prefix="plimsoll-conformance-"))
        )
        for name in ("real", "embedded"):
            (directory / name).mkdir()
        with step("start both servers"):
            real = running.enter_context(control_plane(directory / "real"))
            embedded = running.enter_context(EmbeddedServer(directory / "embedded"))
            print(f"  the real one was ready after {real.ready_after:.1f} s")
        servers = Servers(real=real.endpoint, embedded=embedded.endpoint)
        for each in wanted:
            with step(each.name, skipped):
                each.run(servers)
    return skipped


def main() -> int:
    arguments = parsed_arguments()
    only: str = arguments.only
    if only != SPEED and not any(only in each.name for each in STEPS):
        names = "".join(f"\n  {each.name}" for each in STEPS)
        print(f"conformance: no step is called {only!r}; there are{names}\n  {SPEED}")
        return 2
    try:
        build_peers()
        if arguments.build:
            build_suites()
            return 0
        skipped = run_side_by_side(only)
        if only == SPEED:
            with step(SPEED):
                print_speed()
    except peers.PeersUnavailableError as error:
        print(f"conformance skipped: {error}")
        return 0
    except FAILURES:
        return 1
    for name in skipped:
        print(f"not run here: {name}")
    print("conformance: everything agrees")
    return 0


if __name__ == "__main__":
    sys.exit(main())
