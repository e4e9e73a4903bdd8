from functools import cache

import pytest

from plimsoll.simulator.recording.recorder import Recorder
from plimsoll.simulator.recording.recording import (
    PodHistory,
    RecordedPodState,
    Recording,
    RunProgress,
)
from plimsoll.simulator.run import RunVerdict, run_scenario
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault, LoseZone
from plimsoll.simulator.scenario.file import parse_scenario

ZONE_LOSS = """
lasting: 4m
cluster:
  zones: [a, b]
  nodesPerRack: 2
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: 20Gi}]
  - name: replicated.example
    pools: [{per: region, size: 20Gi}]
  classes:
  - {name: zonal, driver: zonal.example}
  - {name: replicated, driver: replicated.example}
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
actions:
- {at: 0s, do: createStatefulSet, name: web, replicas: 6, className: replicated}
- {at: 0s, do: createStatefulSet, name: db, replicas: 4, className: zonal}
- {at: 90s, do: takeOutOfService, zone: a}
- {at: 210s, do: putIntoService, zone: a}
faults:
- {at: 20s, do: loseZone, zone: a, lasting: 180s}
- {at: 0s, do: driverFails, driver: zonal.example, code: INTERNAL, times: 2}
"""


@cache
def recorded() -> tuple[RunVerdict, Recording]:
    recorder = Recorder(every_seconds=5.0)
    verdict = run_scenario(parse_scenario(ZONE_LOSS), observer=recorder)
    return verdict, recorder.recording


def running_in(zone: str, at: float) -> int:
    samples = recorded()[1].samples
    return next(each for each in samples if each.at >= at).running_by_zone[zone]


def test_a_run_is_the_same_whether_it_is_recorded_or_not() -> None:
    assert run_scenario(parse_scenario(ZONE_LOSS)).digest == recorded()[0].digest


def test_pods_leave_a_zone_that_is_lost() -> None:
    assert running_in("a", at=15.0) > 0
    assert running_in("a", at=120.0) == 0
    assert running_in("b", at=120.0) > running_in("b", at=15.0)


def waited(pod: PodHistory) -> float:
    """For a node. The first pod that gets one may be evicted again, by a controller that has not
    yet seen that the zone is back."""
    return 0.0 if pod.scheduled_at is None else pod.scheduled_at - pod.created_at


def test_pods_whose_volumes_are_in_the_zone_come_back_with_it() -> None:
    recording = recorded()[1]
    back = [pod for pod in recording.present if pod.owner == "db" and pod.zone == "a"]

    assert back
    assert all(pod.state is RecordedPodState.RUNNING for pod in back)
    assert max(waited(pod) for pod in recording.pods if pod.owner == "db") > 60.0


def test_every_pod_that_was_on_a_lost_node_is_counted_as_evicted() -> None:
    recording = recorded()[1]
    lost = [pod for pod in recording.pods if pod.zone == "a" and pod.gone_at is not None]

    assert recording.evictions == len(lost) > 0


def test_failed_creates_are_counted_by_driver_and_code() -> None:
    failed = recorded()[1].failed_calls

    assert failed["zonal.example", "CreateVolume", "INTERNAL"] == 2


def test_nodes_that_come_back_undo_what_was_detached_from_them_meanwhile() -> None:
    recording = recorded()[1]
    failed = {(driver, call): code for driver, call, code in recording.failed_calls}

    for driver in ("zonal.example", "replicated.example"):
        assert recording.calls[driver, "NodeUnpublishVolume"] > 0
        assert (driver, "NodeUnpublishVolume") not in failed


def test_free_and_published_capacity_are_the_same_in_the_end() -> None:
    last = recorded()[1].samples[-1]

    assert last.free_bytes["replicated.example all zones"] == 14 * 1024**3
    assert dict(last.published_bytes) == dict(last.free_bytes)


def test_samples_are_thinned_out_instead_of_growing_without_end() -> None:
    recorder = Recorder(every_seconds=0.25)
    run_scenario(parse_scenario(ZONE_LOSS), observer=recorder)

    times = [sample.at for sample in recorder.recording.samples]
    assert 200 <= len(times) <= 401
    assert times == sorted(times)


class Impatient(Recorder):
    """A user who presses Ctrl-C when the zone is lost."""

    def happened(self, event: AnyAction | AnyFault) -> None:
        super().happened(event)
        if isinstance(event, LoseZone):
            raise KeyboardInterrupt


def test_a_run_that_is_interrupted_tells_what_happened_until_then() -> None:
    recorder = Impatient(every_seconds=5.0)
    verdict = run_scenario(parse_scenario(ZONE_LOSS), observer=recorder)

    recording = recorder.recording
    assert verdict.was_interrupted
    assert verdict.violations == ()
    assert verdict.virtual_seconds - recording.began_at == pytest.approx(20.0)
    assert recording.samples[-1].at == pytest.approx(20.0)
    assert recording.samples[-1].pods[RecordedPodState.RUNNING] == 10


def test_progress_is_told_from_the_first_node_on() -> None:
    seen: list[RunProgress] = []
    recorder = Recorder(5.0, lambda recorder: seen.append(recorder.progress()))
    run_scenario(parse_scenario(ZONE_LOSS), observer=recorder)

    coming_up = [progress for progress in seen if progress.at is None]
    ready = [progress.nodes_ready for progress in coming_up]
    assert ready[0] == 0
    assert ready[-1] > 0
    assert ready == sorted(ready)
    assert max(progress.pods[RecordedPodState.RUNNING] for progress in seen) == 10
