"""What wakes pods that found too many volumes on every node, beyond what kube-scheduler asks."""

import pytest

from plimsoll.api.pods import Pod
from plimsoll.api.storage import AttachmentSpec, VolumeAttachment
from plimsoll.decide.scheduling.queue.wakeups import helps, may_help_any_pod
from plimsoll.decide.scheduling.reasons import Rule
from tests.builders import a_pod
from tests.decide.scheduling.builders import a_pod_with_ephemeral_volume

ATTACHED = VolumeAttachment(spec=AttachmentSpec(attacher="zonal.example"))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(claims=("data",)), id="a-claim"),
        pytest.param(a_pod_with_ephemeral_volume(), id="an-ephemeral-volume"),
    ],
)
def test_pods_with_claims_wake_when_a_volume_is_detached(pod: Pod) -> None:
    assert may_help_any_pod(ATTACHED, None)
    assert helps(Rule.VOLUME_LIMITS, pod, ATTACHED, None)
    assert not helps(Rule.VOLUME_LIMITS, pod, None, ATTACHED)
    assert not helps(Rule.VOLUME_LIMITS, a_pod(), ATTACHED, None)
    assert not helps(Rule.VOLUME_BINDING, pod, ATTACHED, None)
