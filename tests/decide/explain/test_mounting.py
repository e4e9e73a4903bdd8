"""What keeps a pod that has its node from its volumes."""

import msgspec
import pytest

from plimsoll.api.core import Event, Node
from plimsoll.api.meta import Condition
from plimsoll.api.pods import Pod
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.pod import PodExplanation, explain_pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import a_claim, a_node, a_pod
from tests.decide.explain.witnesses import MINUTE, NOW, SECOND, an_event
from tests.decide.scheduling.builders import bound

POD = a_pod(claims=["data"], node="node-1")
NODE, CLAIM = a_node(), bound(a_claim(), "volume-1")
FAILED = 'AttachVolume.Attach failed for volume "volume-1" : busy'
ATTACHED = 'AttachVolume.Attach succeeded for volume "{}" '


def explained(pod: Pod, *events: Event, node: Node = NODE) -> PodExplanation:
    evidence = Evidence(now=NOW, events=events, leases=())
    return explain_pod(pod, Kernel(Columns.of((node, CLAIM))), evidence)


def codes(pod: Pod, *events: Event) -> list[Reason]:
    return [finding.reason for finding in explained(pod, *events).findings]


def attached(volume: str) -> Event:
    message = ATTACHED.format(volume)
    return an_event(POD, "SuccessfulAttachVolume", message, type_="Normal", age=SECOND)


def test_a_failed_attachment_is_told_until_the_same_volume_is_attached() -> None:
    failure = an_event(POD, "FailedAttachVolume", FAILED, age=MINUTE)
    assert codes(POD, failure) == [Reason.MOUNT_FAILED]
    assert codes(POD, failure, attached("volume-2")) == [Reason.MOUNT_FAILED]
    assert codes(POD, failure, attached("volume-1")) == []


def test_a_pod_whose_containers_may_start_has_its_volumes() -> None:
    failure = an_event(POD, "FailedMount")
    ready = Condition(type="PodReadyToStartContainers", status="True")
    status = msgspec.structs.replace(POD.status, phase="Pending", conditions=(ready,))
    started = msgspec.structs.replace(POD, status=status)
    assert codes(POD, failure) == [Reason.MOUNT_FAILED]
    assert codes(started, failure) == []


def test_a_pod_that_failed_on_its_node_is_not_well() -> None:
    status = msgspec.structs.replace(POD.status, phase="Failed", reason="Evicted")
    explanation = explained(msgspec.structs.replace(POD, status=status))
    assert not explanation.is_well
    assert explanation.message == "The pod has failed on node node-1: Evicted."


@pytest.mark.parametrize(
    ("phase", "found"),
    [
        pytest.param("Pending", [Reason.NODE_NOT_READY], id="a-pod-that-starts"),
        pytest.param("Running", [Reason.NODE_NOT_READY], id="a-pod-that-runs"),
        pytest.param("Succeeded", [], id="a-pod-that-is-done"),
    ],
)
def test_a_pod_needs_its_node_ready_until_it_is_done(phase: str, found: list[Reason]) -> None:
    silent = Condition(type="Ready", status="Unknown", message="Kubelet stopped posting status.")
    lost = msgspec.structs.replace(
        NODE, status=msgspec.structs.replace(NODE.status, conditions=(silent,))
    )
    pod = msgspec.structs.replace(POD, status=msgspec.structs.replace(POD.status, phase=phase))
    explanation = explained(pod, node=lost)
    assert [finding.reason for finding in explanation.findings] == found
    assert explanation.is_well is not bool(found)
