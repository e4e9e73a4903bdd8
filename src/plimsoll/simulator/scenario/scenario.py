"""A scenario: a cluster, what its users do, and what goes wrong; from a file or from a seed."""

import msgspec

from plimsoll.simulator.cluster.shape import ClusterShape
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault


class Scenario(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    seed: int = 0
    """Of everything that is left to chance: latencies, ids, pauses after failures."""
    cluster: ClusterShape
    actions: tuple[AnyAction, ...] = ()
    faults: tuple[AnyFault, ...] = ()
    lasting: float = 300.0
    """Seconds from when the cluster is up until the last fault has ended."""
    settling: float = 600.0
    """Seconds after that, at most, until everything that can run has to run."""
