import pytest

from plimsoll.api.storage import CSINode
from plimsoll.decide.scheduling.columns.attachables import Attachable, attachables, volume_limits
from plimsoll.decide.scheduling.reasons import Reason, Undecided
from tests.builders import DRIVER, a_claim, a_class, a_pod, a_volume
from tests.decide.scheduling.builders import a_cluster, a_pod_with_ephemeral_volume, bound

POD = a_pod(claims=["data"])


def test_a_volume_is_known_by_its_driver_and_handle() -> None:
    volume = a_volume("v", claim=a_claim("data"))
    cluster = a_cluster(volume, bound(a_claim("data"), "v"))

    assert volume.spec.csi is not None
    expected = Attachable(DRIVER, volume.spec.csi.volume_handle)
    assert attachables(POD, None, cluster, is_new=True) == {expected}


def test_a_claim_without_a_volume_stands_for_itself() -> None:
    cluster = a_cluster(a_class(), a_claim("data"))

    found = attachables(POD, None, cluster, is_new=True)

    assert found == {Attachable(DRIVER, a_claim("data").key)}


def test_a_missing_claim_matters_only_for_a_new_pod() -> None:
    assert attachables(POD, None, a_cluster(), is_new=False) == frozenset()
    with pytest.raises(Undecided) as undecided:
        attachables(POD, None, a_cluster(), is_new=True)
    assert undecided.value.judgement.findings[0].reason is Reason.CLAIM_NOT_FOUND


def test_a_claim_of_another_pod_cannot_be_counted() -> None:
    pod = a_pod_with_ephemeral_volume()
    cluster = a_cluster(a_class(), a_claim(pod.claims[0].name))

    with pytest.raises(Undecided) as undecided:
        attachables(pod, None, cluster, is_new=False)

    assert undecided.value.judgement.findings[0].reason is Reason.CLAIM_NOT_OWNED


def test_a_node_without_drivers_has_no_limits() -> None:
    assert volume_limits(None) == {}
    assert volume_limits(CSINode()) == {}
