import pytest

from plimsoll.api.pods import Pod, PodSpec, PodVolume
from plimsoll.api.volumes import AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Reason
from plimsoll.decide.scheduling.rules.volume_restrictions import (
    SinglePodClaims,
    disk_conflicts,
    find_disk_conflict,
    judge,
    prepare,
)
from tests.builders import a_claim, a_node, a_pod, meta
from tests.decide.scheduling.builders import a_cluster, a_pod_with

SINGLE = ("ReadWriteOncePod",)


def gce(name: str, *, read_only: bool = False) -> PodVolume:
    return PodVolume(gce_persistent_disk=GcePersistentDisk(pd_name=name, read_only=read_only))


def ebs(name: str, *, read_only: bool = False) -> PodVolume:
    disk = AwsElasticBlockStore(volume_id=name, read_only=read_only)
    return PodVolume(aws_elastic_block_store=disk)


def rbd(*monitors: str, read_only: bool = False) -> PodVolume:
    return PodVolume(rbd=Rbd(monitors=monitors, pool="p", image="i", read_only=read_only))


def iscsi(name: str, *, read_only: bool = False) -> PodVolume:
    return PodVolume(iscsi=Iscsi(iqn=name, read_only=read_only))


@pytest.mark.parametrize(
    ("mine", "other", "conflicts"),
    [
        (gce("a"), gce("a"), True),
        (gce("a"), gce("b"), False),
        (gce("a", read_only=True), gce("a", read_only=True), False),
        (gce("a", read_only=True), gce("a"), True),
        (ebs("a", read_only=True), ebs("a", read_only=True), True),
        (iscsi("a"), iscsi("a"), True),
        (iscsi("a"), gce("a"), False),
        (rbd("m1", "m2"), rbd("m2", "m3"), True),
        (rbd("m1"), rbd("m2"), False),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
    ],
)
def test_a_disk_is_written_by_one_pod_of_a_node_alone(
    mine: PodVolume, other: PodVolume, *, conflicts: bool
) -> None:
    found = find_disk_conflict(a_pod_with(mine), [a_pod_with(other, name="other")])
    assert (found is not None) is conflicts


def test_a_claim_for_one_pod_keeps_a_second_one_away_from_every_node() -> None:
    cluster = a_cluster(
        a_claim(access_modes=SINGLE), a_pod("other", claims=["data"], node="node-1")
    )
    pod = a_pod(claims=["data"])
    claims = prepare(pod, cluster)
    assert isinstance(claims, SinglePodClaims)
    judgement = judge(pod, claims, cluster.pods_on("node-2"))
    assert [finding.reason for finding in judgement.findings] == [
        Reason.READ_WRITE_ONCE_POD_CONFLICT
    ]
    assert judge(pod, claims.with_pod(a_pod("other", claims=["data"]), -1), ()).is_fit


def test_a_claim_that_no_other_pod_uses_is_no_obstacle() -> None:
    cluster = a_cluster(
        a_claim(access_modes=SINGLE),
        a_claim("shared"),
        a_pod("other", claims=["shared"], node="node-1"),
    )
    assert prepare(a_pod(claims=["data", "shared"]), cluster) is NOT_CONCERNED


def test_a_missing_claim_is_named() -> None:
    judgement = prepare(a_pod(claims=["data"]), a_cluster())
    assert isinstance(judgement, Judgement)
    assert judgement.sentences == ('persistentvolumeclaim "data" not found',)


def test_a_disk_is_in_conflict_only_where_another_pod_mounts_it() -> None:
    def with_disk(name: str, node: str, *, read_only: bool) -> Pod:
        disk = GcePersistentDisk(pd_name="d", read_only=read_only)
        volumes = (PodVolume(name="disk", gce_persistent_disk=disk),)
        return Pod(metadata=meta(name, "default"), spec=PodSpec(node_name=node, volumes=volumes))

    columns = Columns.of([a_node("a"), a_node("b"), with_disk("p", "b", read_only=True)])

    assert disk_conflicts(with_disk("new", "", read_only=False), columns) == 0b10
    assert disk_conflicts(with_disk("new", "", read_only=True), columns) == 0
