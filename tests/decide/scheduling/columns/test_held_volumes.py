from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import EphemeralVolume, Pod, PodSpec, PodVolume
from plimsoll.api.storage import AttachmentSource, AttachmentSpec, VolumeAttachment
from plimsoll.decide.scheduling.columns.attachables import Attachable
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from tests.builders import DRIVER, a_claim, a_class, a_csi_node, a_node, a_pod, a_volume

NEW = frozenset({Attachable(DRIVER, "another")})


def used(columns: Columns) -> int:
    holdings = columns.attach._holdings.get("node-1")  # noqa: SLF001  the count itself is asked for
    return holdings.used[DRIVER] if holdings else 0


def test_what_a_pod_holds_follows_its_claim_volume_and_class() -> None:
    claim = a_claim("data")
    columns = Columns.of([a_node(), a_csi_node(), a_pod("p", claims=["data"], node="node-1")])
    assert used(columns) == 0
    columns.put(claim)
    assert used(columns) == 0
    columns.put(a_class())
    assert used(columns) == 1
    columns.put(a_volume("v", claim=claim))
    columns.put(a_claim("data", volume="v"))
    assert used(columns) == 1
    columns.remove(a_volume("v"))
    columns.remove(a_class())
    assert used(columns) == 0


def test_two_pods_with_one_volume_hold_it_once() -> None:
    objects = [a_node(), a_csi_node(), a_claim("data", volume="v"), a_volume("v")]
    columns = Columns.of(objects)
    pods = [a_pod(name, claims=["data"], node="node-1") for name in ("p", "q")]
    for pod in pods:
        columns.put(pod)
    assert used(columns) == 1
    columns.remove(pods[0])
    assert used(columns) == 1
    columns.remove(pods[1])
    assert used(columns) == 0


def test_an_attachment_counts_as_long_as_its_volume_is_known() -> None:
    source = AttachmentSource(persistent_volume_name="v")
    spec = AttachmentSpec(attacher=DRIVER, node_name="node-1", source=source)
    attachment = VolumeAttachment(metadata=ObjectMeta(name="a"), spec=spec)
    columns = Columns.of([a_node(), a_csi_node(), attachment])
    assert used(columns) == 0
    columns.put(a_volume("v"))
    assert used(columns) == 1
    assert columns.attachments_to("node-1") == [attachment]
    columns.remove(attachment)
    assert used(columns) == 0


def test_a_pod_with_a_claim_that_is_not_its_own_makes_counting_impossible() -> None:
    volume = PodVolume(name="scratch", ephemeral=EphemeralVolume())
    pod = Pod(
        metadata=ObjectMeta(name="p", namespace="default", uid="uid-p"),
        spec=PodSpec(node_name="node-1", volumes=(volume,)),
    )
    columns = Columns.of([a_node(), a_csi_node(), a_claim("p-scratch"), pod])

    assert columns.held.troubles() == [("node-1", Blocked.LIMIT_NOT_OWNED)]
    columns.remove(pod)
    assert columns.held.troubles() == []
