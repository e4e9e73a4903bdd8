"""Messages that take effect late, and csi-provisioner in the place of ours, by scenario files."""

from dataclasses import dataclass, field

from plimsoll.simulator.cluster.driver_host import AnsweredCall
from plimsoll.simulator.cluster.mirror import CAPACITIES, VOLUMES
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.run import NoObserver, RunVerdict, run_scenario
from plimsoll.simulator.scenario.file import parse_scenario
from plimsoll.wire.csi import methods
from plimsoll.wire.transport import Request, Response

CLUSTER = """
lasting: 90s
settling: 3m
cluster:
  zones: 2
  drivers:
  - {name: zonal.example, onlyCsi: true, pools: [{per: zone, size: 10Gi}]}
  classes:
  - {name: zonal, driver: zonal.example}
"""


@dataclass
class Moments(NoObserver):
    """When deletions were carried out, and how long the slowest write of a process took from its
    permit to its answer."""

    deleted_at: list[float] = field(default_factory=list)
    slowest: float = 0.0
    _permitted: dict[int, float] = field(default_factory=dict)
    _cluster: SimulatedCluster | None = None

    def attach(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        cluster.drivers["zonal.example"].on_done.append(self._done)
        cluster.api.on_write.append(lambda _, request: self._permit(request))
        cluster.api.on_acknowledged.append(self._answered)

    @property
    def _now(self) -> float:
        assert self._cluster is not None
        return self._cluster.network.loop.time()

    def _done(self, call: AnsweredCall) -> None:
        if call.method == methods.DELETE_VOLUME.name:
            self.deleted_at.append(self._now)

    def _permit(self, request: Request) -> None:
        self._permitted[id(request)] = self._now

    def _answered(self, request: Request, _response: Response) -> None:
        permitted_at = self._permitted.pop(id(request), self._now)
        self.slowest = max(self.slowest, self._now - permitted_at)


class Reports(NoObserver):
    """When a volume was recorded, and when the capacity was reported next."""

    def __init__(self) -> None:
        self.moments: dict[str, float] = {}

    def attach(self, cluster: SimulatedCluster) -> None:
        def changed(kind: str, *_: object) -> None:
            if kind == VOLUMES:
                self.moments.setdefault("recorded", cluster.network.loop.time())
            elif kind == CAPACITIES and "recorded" in self.moments:
                self.moments.setdefault("reported", cluster.network.loop.time())

        cluster.mirror.on_change.append(changed)


def played(rest: str, moments: Moments) -> RunVerdict:
    return run_scenario(parse_scenario(CLUSTER + rest), keeps_lines=True, observer=moments)


def test_a_late_deletion_is_carried_out_after_its_time_out() -> None:
    moments = Moments()
    verdict = played(
        """
actions:
- {at: 1s, do: createPods, name: brief, pods: 1}
- {at: 20s, do: deletePods, name: brief}
faults:
- {at: 15s, do: lateCalls, driver: zonal.example, by: 30s}
""",
        moments,
    )
    assert verdict.unknown == ()
    late = [
        line for line in verdict.lines if "DeleteVolume" in line and "no answer in time" in line
    ]
    assert len(late) == 1
    begun, ended = moments.deleted_at[0], moments.deleted_at[-1]
    assert ended - begun > 15.0, "the first call comes when the second has long been answered"


def test_answers_about_capacity_can_be_on_their_way_for_long() -> None:
    scenario = parse_scenario(
        """
lasting: 60s
cluster:
  zones: 1
  drivers:
  - {name: zonal.example, pools: [{per: zone, size: 10Gi}]}
  classes:
  - {name: zonal, driver: zonal.example}
actions:
- {at: 5s, do: createPods, name: brief, pods: 1}
faults:
- {at: 4s, do: slowAnswers, driver: zonal.example, call: ListPools, by: 8s}
"""
    )
    reports = Reports()
    assert run_scenario(scenario, observer=reports).unknown == ()
    recorded_at, reported_at = reports.moments["recorded"], reports.moments["reported"]
    assert reported_at - recorded_at > 7.0


def test_a_process_can_be_stopped_between_its_permit_and_the_sending() -> None:
    moments = Moments()
    verdict = played(
        """
actions:
- {at: 2s, do: createPods, name: brief, pods: 1}
faults:
- at: 1s
  do: pause
  what: leader of scheduler
  lasting: 40s
  beforeWrites: 1
  resource: persistentvolumeclaims
""",
        moments,
    )
    assert verdict.unknown == ()
    assert moments.slowest > 39.0


def test_a_process_can_be_cut_off_at_a_write_of_one_resource() -> None:
    verdict = played(
        """
actions:
- {at: 2s, do: createPods, name: brief, pods: 1}
faults:
- {at: 1s, do: cut, what: leader of scheduler, afterWrites: 1, resource: persistentvolumeclaims}
""",
        Moments(),
    )
    assert verdict.unknown == ()
    cut = next(
        n for n, line in enumerate(verdict.lines) if "scheduler" in line and "cut off" in line
    )
    assert any("persistentvolumeclaims=default/brief-0" in line for line in verdict.lines[:cut])


def test_csi_provisioner_leads_for_a_time_and_ours_knows_it() -> None:
    verdict = played(
        """
actions:
- {at: 50s, do: createPods, name: brief, pods: 1}
faults:
- {at: 1s, do: leadByCsiProvisioner, driver: zonal.example, lasting: 80s}
""",
        Moments(),
    )
    assert verdict.unknown == ()
    recorded = [line for line in verdict.lines if "POST /api/v1/persistentvolumes ->" in line]
    assert len(recorded) == 1
    assert "csi-provisioner-zonal.example" in recorded[0]
    assert verdict.faults == {"leadByCsiProvisioner": 1}


def test_csi_provisioner_is_known_to_forget_a_volume_that_it_did_not_record() -> None:
    """Its call is answered too late, and its claim is gone when ours is back."""
    verdict = played(
        """
actions:
- {at: 50s, do: createPods, name: brief, pods: 1}
- {at: 65s, do: deletePods, name: brief}
faults:
- {at: 1s, do: leadByCsiProvisioner, driver: zonal.example, lasting: 60s}
- {at: 45s, do: driverHangs, driver: zonal.example, lasting: 15s, when: after, times: 1}
""",
        Moments(),
    )
    (leaked,) = verdict.violations
    assert (leaked.invariant, leaked.is_known) == (Invariant.NO_LEAKS, True)


def test_csi_provisioner_may_record_a_volume_for_a_node_that_is_not_selected_any_more() -> None:
    verdict = played(
        """
actions:
- {at: 50s, do: createPods, name: moved, pods: 1}
- {at: 54s, do: forgetSelectedNode, name: moved}
faults:
- {at: 1s, do: leadByCsiProvisioner, driver: zonal.example, lasting: 80s}
- {at: 45s, do: driverHangs, driver: zonal.example, lasting: 8s, times: 1}
- {at: 52s, do: cut, what: scheduler-0, lasting: 30s}
- {at: 52s, do: cut, what: scheduler-1, lasting: 30s}
""",
        Moments(),
    )
    recorded = [line for line in verdict.lines if "POST /api/v1/persistentvolumes ->" in line]
    assert len(recorded) == 1
    assert "csi-provisioner-zonal.example" in recorded[0]
    assert verdict.violations == ()
