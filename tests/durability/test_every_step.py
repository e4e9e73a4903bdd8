"""What the walk that kills each process at each step takes for a step, and for a fault."""

from functools import partial

import pytest
from conformance.every_step import walk
from conformance.every_step.api_line import step_of
from conformance.every_step.csi_line import MadeVolumes
from conformance.every_step.paths import PATHS
from conformance.every_step.trap import KillMoment, SeenStep, Trap
from conformance.every_step.walk import PlannedKill, every_kill, sampled_kills

from plimsoll.wire.csi.gen import csi_pb2 as csi

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.mark.parametrize(
    ("request_line", "body", "step"),
    [
        ("GET /api/v1/pods?watch=true", b"", ""),
        ("PATCH /api/v1/namespaces/default/pods/web/status", b"{}", "PATCH pods/status"),
        ("POST /api/v1/namespaces/default/pods/web/binding", b"{}", "POST pods/binding"),
        ("DELETE /api/v1/persistentvolumes/pvc-1", b"", "DELETE persistentvolumes"),
        ("POST /api/v1/namespaces/default/events", b"{}", ""),
        (f"PUT {LEASES}/plimsoll-scheduler", b"{}", ""),
        (f"POST {LEASES}", b'{"metadata":{"name":"plimsoll-group-1"}}', "POST group"),
        (f"DELETE {LEASES}/plimsoll-intent-1-0", b"{}", "DELETE intent"),
    ],
)
def test_writes_are_steps_but_for_events_and_elections(
    request_line: str, body: bytes, step: str
) -> None:
    assert step_of(f"{request_line} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), body) == step


def test_caller_and_callee_both_take_a_step() -> None:
    ended: list[str] = []
    call = SeenStep("provisioner-a", "driver-a", "CreateVolume")
    write = SeenStep("scheduler", "apiserver", "PUT group")
    for victim in ("provisioner-a", "driver-a"):
        trap = Trap()
        trap.set(victim, 2, KillMoment.AFTER, partial(ended.append, victim))
        assert [trap.fate(step) for step in (call, write, call, call)] == [
            None,
            None,
            KillMoment.AFTER,
            None,
        ]
        trap.spring(call)
        assert trap.sprung == call
    assert ended == ["provisioner-a", "driver-a"]


def test_two_volumes_of_one_name_are_told() -> None:
    made = MadeVolumes()
    request = csi.CreateVolumeRequest(name="pvc-1").SerializeToString()
    for id_ in ("one", "one", "two"):
        volume = csi.Volume(volume_id=id_)
        made.note("driver-a", request, csi.CreateVolumeResponse(volume=volume).SerializeToString())
    assert made.made_twice() == ["driver-a made pvc-1 as one, two"]


def test_a_sample_is_a_part_of_the_walk_and_its_seed_decides_which() -> None:
    every, sample = {str(kill) for kill in every_kill()}, [*map(str, sampled_kills(1))]
    assert every.issuperset(sample)
    assert sample == [*map(str, sampled_kills(1))]
    assert sample != [*map(str, sampled_kills(2))]


def test_a_group_survives_the_end_of_its_scheduler_and_of_a_driver() -> None:
    """Real processes, and two of the kills of the walk."""
    commits = PATHS[0]
    kills = (
        PlannedKill(commits, "scheduler", KillMoment.AFTER, 4),
        PlannedKill(commits, "driver-a", KillMoment.AFTER, 1),
    )
    said: list[str] = []
    walked = walk.run(kills, said.append)
    assert walked.kills == {"scheduler": 1, "driver-a": 1}
    assert "0 leaked, 0 made twice, 0 used volumes deleted, 0 problems" in said[-1]
