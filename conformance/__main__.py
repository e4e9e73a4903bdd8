"""`make conformance`: builds the real programs, runs them beside ours, and compares.

Exit code 0: everything agrees, or there is no Go to build the real programs with (then it says
so). Exit code 1: the last line names the step that failed.
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
from conformance.steps import STEPS, Servers, StepFailedError, print_speed
from tests.servers import EmbeddedServer, ServerDiedError

FAILURES = (StepFailedError, NotReadyError, ServerDiedError, peers.BuildFailedError)


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--only", default="", help="run the steps whose name contains this")
    return parser.parse_args()


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    print(f"== {name}", flush=True)
    began = time.monotonic()
    try:
        yield
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


def run_side_by_side(only: str) -> None:
    wanted = [each for each in STEPS if only in each.name]
    if not wanted:
        return
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
            with step(each.name):
                each.run(servers)


def main() -> int:
    only = parsed_arguments().only
    try:
        build_peers()
        run_side_by_side(only)
        if only in "speed":
            with step("speed"):
                print_speed()
    except peers.PeersUnavailableError as error:
        print(f"conformance skipped: {error}")
        return 0
    except FAILURES:
        return 1
    print("conformance: everything agrees")
    return 0


if __name__ == "__main__":
    sys.exit(main())
