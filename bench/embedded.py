"""The embedded server in a process of its own, measured from start to restart."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import uvloop

from bench.measurement import Measurement
from bench.target import As, Target
from bench.workloads import Scale, measure
from tests.servers import EmbeddedServer


@contextlib.contextmanager
def embedded_target(*, restarts: list[float]) -> Iterator[Target]:
    """The embedded server on this machine's disk; `restarts` gets the time of a second start."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-bench-") as name:
        server = EmbeddedServer(Path(name))
        ready_after = server.start()
        try:
            yield Target(
                name="plimsoll",
                endpoint=server.endpoint,
                pids=(server.pid,),
                ready_after=ready_after,
            )
            server.stop()
            restarts.append(server.start())
        finally:
            server.stop()


def measure_embedded(
    scale: Scale, say: Callable[[str], None], user: As = As.ADMINISTRATOR
) -> list[Measurement]:
    """All measurements of the embedded server, and how long it takes to load what they left."""
    restarts: list[float] = []
    with embedded_target(restarts=restarts) as target:
        found = uvloop.run(measure(target.asked_by(user), scale, say))
    return [
        *found,
        Measurement(
            name="start to ready, with all of the above",
            value=restarts[0],
            unit="s",
            better="lower",
        ),
    ]
