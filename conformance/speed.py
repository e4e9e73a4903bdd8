"""The same load on both servers, one after the other on the same disk, both syncing every write;
first by an administrator, then by a service account whose roles are looked up.

Nothing is asserted about the numbers: a shared machine has good and bad minutes. They are printed
for the developer who changes the server.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import uvloop
from bench.embedded import measure_embedded
from bench.measurement import Measurement, comparison
from bench.target import As, Target
from bench.workloads import Scale, measure

from conformance.control_plane import control_plane

# Enough to be steady; the whole comparison is to end within two or three minutes.
SCALE = Scale()


def measure_real(scale: Scale, say: Callable[[str], None], user: As) -> list[Measurement]:
    with (
        tempfile.TemporaryDirectory(prefix="plimsoll-speed-") as name,
        control_plane(Path(name)) as real,
    ):
        target = Target(
            name="kube-apiserver",
            endpoint=real.endpoint,
            pids=tuple(real.pids.values()),
            ready_after=real.ready_after,
        )
        return uvloop.run(measure(target.asked_by(user), scale, say))


def compare(say: Callable[[str], None], scale: Scale = SCALE) -> Iterator[str]:
    """Tables to read: ours, theirs with its etcd, and how many times better ours is."""
    for user in As:
        ours = measure_embedded(scale, say, user)
        theirs = measure_real(scale, say, user)
        yield f"asked by: {user}"
        yield from comparison(ours, theirs)
