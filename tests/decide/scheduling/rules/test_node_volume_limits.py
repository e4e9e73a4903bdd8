import msgspec
import pytest

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import PodVolume
from plimsoll.api.storage import (
    AttachmentSource,
    AttachmentSpec,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    VolumeAttachment,
    VolumeLimit,
)
from plimsoll.api.volumes import (
    AwsElasticBlockStore,
    PersistentVolume,
    VolumeSpec,
)
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Reason, Verdict
from plimsoll.decide.scheduling.rules.node_volume_limits import LimitColumns, judge, prepare
from tests.builders import DRIVER, a_claim, a_class, a_csi_node, a_node, a_pod, a_volume, meta
from tests.decide.scheduling.builders import (
    a_cluster,
    a_pod_with,
    a_pod_with_ephemeral_volume,
    bound,
)


def a_limit(count: int | None) -> CSINode:
    allocatable = None if count is None else VolumeLimit(count=count)
    driver = CSINodeDriver(name=DRIVER, node_id="node-1", allocatable=allocatable)
    return CSINode(metadata=meta("node-1"), spec=CSINodeSpec(drivers=(driver,)))


def an_attachment(volume: str, node: str = "node-1") -> VolumeAttachment:
    source = AttachmentSource(persistent_volume_name=volume)
    spec = AttachmentSpec(attacher=DRIVER, node_name=node, source=source)
    return VolumeAttachment(metadata=meta(f"of-{volume}"), spec=spec)


def volume_for(name: str) -> tuple[ApiObject, ApiObject]:
    return a_volume(name, claim=a_claim(name)), bound(a_claim(name), name)


def test_a_pod_without_claims_is_not_concerned() -> None:
    assert prepare(a_pod()) is NOT_CONCERNED
    assert prepare(a_pod(claims=["data"])).verdict is Verdict.SUCCESS


@pytest.mark.parametrize(("count", "fits"), [(2, True), (1, False), (0, False), (None, True)])
def test_a_node_takes_as_many_volumes_as_its_driver_says(count: int | None, *, fits: bool) -> None:
    running = a_pod("running", claims=["one"], node="node-1")
    cluster = a_cluster(a_limit(count), running, *volume_for("one"), *volume_for("two"))
    judgement = judge(a_pod(claims=["two"]), "node-1", cluster)
    assert judgement.is_fit is fits
    if not fits:
        (finding,) = judgement.findings
        assert finding.reason is Reason.ATTACH_LIMIT_REACHED
        assert (finding.wanted, finding.seen) == (2, count)


def test_a_volume_that_the_node_uses_already_costs_nothing() -> None:
    running = a_pod("running", claims=["one"], node="node-1")
    cluster = a_cluster(a_limit(1), running, *volume_for("one"))
    assert judge(a_pod(claims=["one", "one"]), "node-1", cluster).is_fit


def test_a_volume_that_is_attached_but_unused_counts_twice() -> None:
    cluster = a_cluster(a_limit(1), an_attachment("one"), *volume_for("one"))
    assert not judge(a_pod(claims=["one"]), "node-1", cluster).is_fit
    elsewhere = a_cluster(a_limit(1), an_attachment("one", "node-2"), *volume_for("one"))
    assert judge(a_pod(claims=["one"]), "node-1", elsewhere).is_fit


def test_a_volume_that_is_still_to_be_made_takes_a_place() -> None:
    pod = a_pod(claims=["new", "newer"])
    objects = (a_claim("new"), a_claim("newer"), a_class())
    assert judge(pod, "node-1", a_cluster(a_limit(2), *objects)).is_fit
    assert not judge(pod, "node-1", a_cluster(a_limit(1), *objects)).is_fit
    assert judge(pod, "node-1", a_cluster(*objects)).is_fit


def test_a_driver_can_insist_on_being_installed() -> None:
    strict = CSIDriver(
        metadata=meta(DRIVER), spec=CSIDriverSpec(prevent_pod_scheduling_if_missing=True)
    )
    cluster = a_cluster(strict, a_csi_node("node-1", driver="other"), *volume_for("one"))
    judgement = judge(a_pod(claims=["one"]), "node-1", cluster)
    assert judgement.verdict is Verdict.UNSCHEDULABLE
    assert judgement.sentences == (f"{DRIVER} CSI driver is not installed on the node",)
    assert judge(a_pod(claims=["one"]), "node-1", cluster, demands_drivers=False).is_fit
    relaxed = msgspec.structs.replace(strict, spec=CSIDriverSpec())
    assert judge(a_pod(claims=["one"]), "node-1", a_cluster(relaxed, *volume_for("one"))).is_fit


def test_claims_that_are_missing_or_not_the_pods_stop_the_count() -> None:
    missing = judge(a_pod(claims=["data"]), "node-1", a_cluster(a_limit(1)))
    assert missing.verdict is Verdict.UNRESOLVABLE
    foreign = a_cluster(a_limit(1), a_claim("web-0-scratch"))
    judgement = judge(a_pod_with_ephemeral_volume(), "node-1", foreign)
    assert judgement.verdict is Verdict.ERROR
    assert [finding.reason for finding in judgement.findings] == [Reason.CLAIM_NOT_OWNED]


def test_disks_of_former_plugins_count_for_the_driver_that_took_over() -> None:
    driver = CSINodeDriver(name="ebs.csi.aws.com", allocatable=VolumeLimit(count=1))
    node = CSINode(metadata=meta("node-1"), spec=CSINodeSpec(drivers=(driver,)))
    disk = PodVolume(name="x", aws_elastic_block_store=AwsElasticBlockStore(volume_id="vol-1"))
    in_tree = PersistentVolume(
        metadata=meta("one"),
        spec=VolumeSpec(aws_elastic_block_store=AwsElasticBlockStore(volume_id="vol-2")),
    )
    running = a_pod("running", claims=["one"], node="node-1")
    cluster = a_cluster(node, running, in_tree, bound(a_claim("one"), "one"))
    assert not judge(a_pod_with(disk), "node-1", cluster).is_fit
    assert judge(a_pod_with(disk), "node-2", cluster).is_fit


def test_claims_of_former_plugins_count_for_the_driver_that_took_over() -> None:
    driver = CSINodeDriver(name="ebs.csi.aws.com", allocatable=VolumeLimit(count=0))
    node = CSINode(metadata=meta("node-1"), spec=CSINodeSpec(drivers=(driver,)))
    objects = (a_claim(), a_class(provisioner="kubernetes.io/aws-ebs"))
    assert not judge(a_pod(claims=["data"]), "node-1", a_cluster(node, *objects)).is_fit
    assert judge(a_pod(claims=["data"]), "node-2", a_cluster(node, *objects)).is_fit


def test_a_disk_that_its_driver_could_not_serve_stops_the_count() -> None:
    senseless = PodVolume(name="x", aws_elastic_block_store=AwsElasticBlockStore(volume_id="aws:/"))
    unknown = PodVolume(
        name="y", aws_elastic_block_store=AwsElasticBlockStore(volume_id="aws://a/b")
    )
    assert judge(a_pod_with(senseless), "node-1", a_cluster(a_limit(1))).is_fit
    judgement = judge(a_pod_with(unknown), "node-1", a_cluster(a_limit(1)))
    assert judgement.verdict is Verdict.ERROR
    assert [finding.reason for finding in judgement.findings] == [Reason.VOLUME_NOT_TRANSLATABLE]


BOUND = [a_claim("c", volume="v"), a_volume("v"), a_claim("d", volume="w"), a_volume("w")]
POD = a_pod("new", claims=["c", "d"])


def test_a_driver_that_must_be_there_keeps_pods_away_where_it_is_not() -> None:
    spec = CSIDriverSpec(prevent_pod_scheduling_if_missing=True)
    strict = CSIDriver(metadata=meta(DRIVER), spec=spec)
    columns = Columns.of([a_node("a"), a_node("b"), a_node("c"), a_csi_node("a"), *BOUND, strict])
    columns.put(CSINode(metadata=meta("b")))

    limits = LimitColumns(POD, columns)

    assert limits.missing_drivers() == [(DRIVER, 0b110)]
    flags = limits.blocked()
    assert flags is not None
    assert flags[:3].tolist() == [0, Blocked.LIMIT_DRIVER, Blocked.LIMIT_DRIVER]


def test_a_node_with_too_few_slots_is_full() -> None:
    driver = CSINodeDriver(name=DRIVER, allocatable=VolumeLimit(count=1))
    csi_node = CSINode(metadata=meta("a"), spec=CSINodeSpec(drivers=(driver,)))
    columns = Columns.of([a_node("a"), a_node("b"), csi_node, *BOUND])

    flags = LimitColumns(POD, columns).blocked()

    assert flags is not None
    assert flags[:2].tolist() == [Blocked.LIMIT_REACHED, 0]
    assert LimitColumns(a_pod("small", claims=["c"]), columns).blocked() is None
