import pytest

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.pods import PodVolume
from plimsoll.api.selectors.node import NodeRequirementSpec
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import (
    AwsElasticBlockStore,
    AzureDisk,
    Cinder,
    GcePersistentDisk,
    PersistentVolume,
    VolumeSpec,
)
from plimsoll.decide.csi.in_tree import (
    BETA_ZONE,
    ZONE,
    inline_source,
    plugin_of,
    seen_from_node,
    translated,
)
from tests.builders import a_volume, meta


def a_gce_volume(**labels: str) -> PersistentVolume:
    spec = VolumeSpec(gce_persistent_disk=GcePersistentDisk(pd_name="disk"))
    return PersistentVolume(metadata=meta("volume-1", labels=labels), spec=spec)


def reached_from(volume: PersistentVolume) -> list[list[tuple[str, tuple[str, ...] | None]]]:
    required = volume.spec.required_nodes
    terms = required.node_selector_terms if required else ()
    return [[(r.key, r.values) for r in term.match_expressions] for term in terms]


def test_a_driver_of_its_own_needs_no_translation() -> None:
    assert plugin_of(a_volume().spec) is None
    assert translated(a_volume()) == a_volume()


@pytest.mark.parametrize(
    ("zone", "handle"),
    [
        ("", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"),
        ("us-east1-a", "projects/UNSPECIFIED/zones/us-east1-a/disks/disk"),
        ("us-east1-a__us-east1-b", "projects/UNSPECIFIED/regions/us-east1/disks/disk"),
    ],
)
def test_a_disk_is_found_by_where_it_is(zone: str, handle: str) -> None:
    source = translated(a_gce_volume(**{ZONE: zone})).spec.csi
    assert source is not None
    assert (source.driver, source.volume_handle) == ("pd.csi.storage.gke.io", handle)


def test_zones_that_share_no_region_make_no_sense() -> None:
    with pytest.raises(ValueError, match="zone in unexpected format"):
        translated(a_gce_volume(**{ZONE: "a__b"}))
    with pytest.raises(ValueError, match="multiple or no regions"):
        translated(a_gce_volume(**{ZONE: "us-east1-a__us-west1-a"}))


def test_labels_of_the_volume_become_the_topology_of_the_driver() -> None:
    volume = translated(a_gce_volume(**{BETA_ZONE: "us-east1-a__us-east1-b"}))
    assert reached_from(volume) == [[("topology.gke.io/zone", ("us-east1-a", "us-east1-b"))]]


def test_zones_in_the_affinity_go_before_labels() -> None:
    spec = a_volume(reachable_from={ZONE: "z1"}).spec
    volume = PersistentVolume(
        metadata=meta("volume-1", labels={ZONE: "z2"}),
        spec=VolumeSpec(cinder=Cinder(volume_id="id"), node_affinity=spec.node_affinity),
    )
    assert reached_from(translated(volume)) == [
        [("topology.cinder.csi.openstack.org/zone", ("z1",))]
    ]


def test_a_node_sees_its_own_plugins_as_they_are() -> None:
    volume = a_gce_volume(**{ZONE: "us-east1-a"})
    keeps = CSINode(metadata=meta("node-1"))
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}
    leaves = CSINode(metadata=ObjectMeta(name="node-1", annotations=annotations))
    assert seen_from_node(volume, None) is volume
    assert seen_from_node(volume, keeps) is volume
    assert seen_from_node(volume, leaves).spec.csi is not None


@pytest.mark.parametrize("identifier", ["vol-1", "aws:///vol-1", "aws://us-east-1a/vol-1"])
def test_an_inline_volume_is_known_by_its_identifier(identifier: str) -> None:
    disk = AwsElasticBlockStore(volume_id=identifier)
    source = inline_source(PodVolume(name="data", aws_elastic_block_store=disk))
    assert source is not None
    assert (source.driver, source.volume_handle) == ("ebs.csi.aws.com", "vol-1")


def test_what_the_driver_could_not_serve_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid format for AWS volume"):
        inline_source(
            PodVolume(name="x", aws_elastic_block_store=AwsElasticBlockStore(volume_id="aws://a/b"))
        )
    with pytest.raises(ValueError, match=r"kind\(Dedicated\) is not supported"):
        inline_source(PodVolume(name="x", azure_disk=AzureDisk(disk_uri="u", kind="Dedicated")))
    assert inline_source(PodVolume(name="x")) is None


def test_other_requirements_stay_untouched() -> None:
    spec = a_volume(reachable_from={"rack": "r1"}).spec
    volume = PersistentVolume(
        metadata=meta("volume-1"),
        spec=VolumeSpec(cinder=Cinder(volume_id="id"), node_affinity=spec.node_affinity),
    )
    assert translated(volume).spec.required_nodes == spec.required_nodes
    assert NodeRequirementSpec(key="rack", operator="In", values=("r1",)) in (
        spec.required_nodes.node_selector_terms[0].match_expressions if spec.required_nodes else ()
    )
