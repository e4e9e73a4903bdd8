"""A driver that has told its capacity, and is asked for more, is a violation; others are not."""

from collections.abc import Mapping

import msgspec
import pytest
from grpc import StatusCode

from plimsoll.simulator.cluster.driver_host import AnsweredCall
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.run import NoObserver, run_scenario
from plimsoll.simulator.scenario.file import parse_scenario
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import driver_error
from plimsoll.wire.csi.gen import csi_pb2 as csi

SCENARIO = """
lasting: 1s
settling: 1m
cluster:
  zones: 1
  drivers:
  - {name: zonal.example, pools: [{per: zone, size: 10Gi}]}
  classes:
  - {name: zonal, driver: zonal.example}
  - {name: now, driver: zonal.example, bindingMode: Immediate}
"""
OPAQUE = SCENARIO.replace("pools: [", "tracksCapacity: false, pools: [")
CLAIM = {"spec": {"storageClassName": "now"}}


class Refusal(NoObserver):
    """The driver refuses a volume, and says why; a claim of class `now` was there before."""

    def __init__(self, detail: str, claim: Mapping[str, object] | None) -> None:
        self._detail = detail
        self._claim = claim
        self._cluster: SimulatedCluster | None = None

    def attach(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def begin(self) -> None:
        assert self._cluster is not None
        life = self._cluster.components["provisioner-zonal.example-0"].life
        assert life is not None
        host, method = self._cluster.drivers["zonal.example"], methods.CREATE_VOLUME.name
        if self._claim is not None:
            metadata = {"namespace": "default", "name": "data", "uid": "uid"}
            for changed in self._cluster.mirror.on_change:
                changed(
                    "persistentvolumeclaims", "default/data", None, {"metadata": metadata, **CLAIM}
                )
        request = csi.CreateVolumeRequest(name="pvc-1").SerializeToString()
        error = driver_error(StatusCode.RESOURCE_EXHAUSTED, method=method, detail=self._detail)
        for told in host.on_refusal:
            told(host, AnsweredCall(life, method, request, 0.0), error)


@pytest.mark.parametrize(
    ("text", "detail", "claim", "is_wrong"),
    [
        pytest.param(SCENARIO, "no room", None, True, id="asked for more than it has"),
        pytest.param(SCENARIO, "CreateVolume: failed on purpose", None, False, id="on purpose"),
        pytest.param(SCENARIO, "no room", CLAIM, False, id="an Immediate claim was there"),
        pytest.param(OPAQUE, "no room", None, False, id="it tells no capacity"),
    ],
)
def test_a_refusal_for_lack_of_room(
    text: str, detail: str, claim: Mapping[str, object] | None, *, is_wrong: bool
) -> None:
    scenario = msgspec.structs.replace(parse_scenario(text), seed=1)
    verdict = run_scenario(scenario, observer=Refusal(detail, claim))
    found = [violation.invariant for violation in verdict.unknown]
    assert (Invariant.NEVER_ASKED_FOR_MORE in found) is is_wrong
