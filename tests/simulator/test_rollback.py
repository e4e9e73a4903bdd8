"""Controllers take unused volumes back while everything else goes wrong as well."""

from dataclasses import replace

import msgspec
import pytest

from plimsoll.decide.rollback.records import RollbackState, rollback_lease
from plimsoll.simulator.cluster.driver_host import AnsweredCall
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.run import NoObserver, run_scenario
from plimsoll.simulator.scenario.generate import generate
from plimsoll.simulator.settled.rollbacks import LEASES
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2 as pools
from tests.decide.rollback.unused import a_record

SEED = 28
"""One in which pods wait for volumes that are in the wrong zone."""
PUBLISHED = (
    methods.NODE_PUBLISH_VOLUME.name,
    csi.NodePublishVolumeRequest(volume_id="v").SerializeToString(),
)
UNDONE = (
    methods.DELETE_NEVER_PUBLISHED.name,
    pools.DeleteNeverPublishedRequest(volume_id="v").SerializeToString(),
)
DELETED = (methods.DELETE_VOLUME.name, csi.DeleteVolumeRequest(volume_id="v").SerializeToString())


def test_unused_volumes_are_taken_back_amid_faults_and_every_invariant_holds() -> None:
    scenario = generate(SEED)
    cluster = replace(scenario.cluster, rolls_back=True)
    verdict = run_scenario(msgspec.structs.replace(scenario, cluster=cluster), keeps_lines=True)
    assert verdict.unknown == ()
    ended = [line for line in verdict.lines if "rollback ended" in line]
    assert any("done" in line for line in ended)


class Stored(NoObserver):
    """A record that no controller settles: none of them takes volumes back."""

    def __init__(self, state: RollbackState, *, was_used: bool) -> None:
        self._record = a_record(state=state, was_used=was_used)
        self._cluster: SimulatedCluster | None = None

    def attach(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def begin(self) -> None:
        assert self._cluster is not None
        lease = rollback_lease(self._record, "kube-system", {})
        self._cluster.user.spawn(self._cluster.client.create(LEASES, lease))


@pytest.mark.parametrize(
    ("state", "was_used", "is_broken"),
    [
        pytest.param(RollbackState.RETAINING, False, True, id="half done"),
        pytest.param(RollbackState.KEPT, False, True, id="without its claim"),
        pytest.param(RollbackState.KEPT, True, False, id="told to an administrator"),
    ],
)
def test_a_rollback_that_does_not_end_breaks_an_invariant(
    state: RollbackState, *, was_used: bool, is_broken: bool
) -> None:
    calm = msgspec.structs.replace(generate(1), actions=(), faults=(), lasting=1.0, settling=60.0)
    verdict = run_scenario(calm, observer=Stored(state, was_used=was_used))
    found = [violation.invariant for violation in verdict.unknown]
    assert (Invariant.ROLLBACKS_END in found) is is_broken


class Answers(NoObserver):
    """Drivers say that they have carried out these calls, of a process of this name."""

    def __init__(self, sender: str, *calls: tuple[str, bytes]) -> None:
        self._sender = sender
        self._calls = calls
        self._cluster: SimulatedCluster | None = None

    def attach(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def begin(self) -> None:
        assert self._cluster is not None
        life = self._cluster.components[self._sender].life
        assert life is not None
        host = next(iter(self._cluster.drivers.values()))
        for method, request in self._calls:
            for told in host.on_done:
                told(AnsweredCall(life, method, request, 0.0))


@pytest.mark.parametrize(
    ("sender", "calls", "is_broken"),
    [
        pytest.param("controller-0", (PUBLISHED, UNDONE), True, id="undone after use"),
        pytest.param("controller-0", (PUBLISHED, DELETED), True, id="deleted by a controller"),
        pytest.param("controller-0", (UNDONE, PUBLISHED), False, id="undone unused"),
        pytest.param("apiserver", (PUBLISHED, DELETED), False, id="reclaimed by another process"),
    ],
)
def test_a_used_volume_that_is_rolled_back_breaks_an_invariant(
    sender: str, calls: tuple[tuple[str, bytes], ...], *, is_broken: bool
) -> None:
    calm = msgspec.structs.replace(generate(1), actions=(), faults=(), lasting=1.0, settling=60.0)
    verdict = run_scenario(calm, observer=Answers(sender, *calls))
    found = [violation.invariant for violation in verdict.unknown]
    assert (Invariant.NO_USED_DATA_ROLLED_BACK in found) is is_broken
