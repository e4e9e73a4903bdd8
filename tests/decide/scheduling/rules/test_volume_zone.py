import pytest
from hypothesis import given, settings

from plimsoll.api.meta import ApiObject
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import slots_of
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Reason
from plimsoll.decide.scheduling.rules import volume_zone
from plimsoll.decide.scheduling.rules.volume_zone import ZoneDemand, judge, prepare, zone_demands
from tests.builders import a_claim, a_class, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import a_cluster, labelled
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_random_node,
    a_random_volume,
    by_identity,
    seeds,
)

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="same-zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="other-zone"),
        pytest.param({ZONE: "a__ b "}, {ZONE: "b"}, True, id="one-of-several"),
        pytest.param({ZONE: "a"}, {}, True, id="node-in-a-cluster-without-zones"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="node-says-only-its-region"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="older-label-on-the-volume"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="older-label-on-the-node"),
    ],
)
def test_a_node_must_be_in_a_zone_of_the_volume(
    volume: dict[str, str], node: dict[str, str], *, fits: bool
) -> None:
    demands = zone_demands(labelled(a_volume(), volume))
    assert judge(demands, a_node(labels=node)).is_fit is fits


def test_a_label_with_an_empty_zone_in_it_is_ignored() -> None:
    assert zone_demands(labelled(a_volume(), {ZONE: "a__", REGION: "r"})) == (
        ZoneDemand("volume-1", REGION, frozenset({"r"})),
    )


def test_a_volume_counts_as_soon_as_the_claim_names_it() -> None:
    volume = labelled(a_volume(), {ZONE: "a"})
    cluster = a_cluster(a_claim(volume="volume-1"), volume)
    assert prepare(a_pod(claims=["data"]), cluster) == zone_demands(volume)


def test_a_claim_that_waits_for_the_node_demands_nothing_of_it() -> None:
    assert prepare(a_pod(claims=["data"]), a_cluster(a_claim(), a_class())) is NOT_CONCERNED


@pytest.mark.parametrize(
    ("objects", "reason", "sentence"),
    [
        ((), Reason.CLAIM_NOT_FOUND, 'persistentvolumeclaim "data" not found'),
        (
            (a_claim(volume="gone"),),
            Reason.VOLUME_NOT_FOUND,
            'persistentvolume "gone" not found',
        ),
        (
            (a_claim(class_name=""),),
            Reason.UNBOUND_IMMEDIATE_CLAIM,
            "PersistentVolumeClaim had no pv name and storageClass name",
        ),
        (
            (a_claim(),),
            Reason.CLASS_NOT_FOUND,
            'storageclass.storage.k8s.io "fast" not found',
        ),
        (
            (a_claim(), a_class(binding_mode="Immediate")),
            Reason.UNBOUND_IMMEDIATE_CLAIM,
            "PersistentVolume had no name",
        ),
    ],
)
def test_without_its_volumes_a_pod_goes_nowhere(
    objects: tuple[ApiObject, ...], reason: Reason, sentence: str
) -> None:
    judgement = prepare(a_pod(claims=["data"]), a_cluster(*objects))
    assert isinstance(judgement, Judgement)
    assert [(f.reason, f.sentence) for f in judgement.findings] == [(reason, sentence)]


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_nodes_outside_the_zones_of_volumes_are_those_that_the_plain_rule_refuses(
    seed: int,
) -> None:
    chance = Chance(seed)
    columns = Columns.of(by_identity(a_random_node(chance) for _ in range(5)))
    volumes = [a_random_volume(chance) for _ in range(6)]
    demands = tuple(demand for volume in volumes for demand in volume_zone.zone_demands(volume))

    outside = volume_zone.blocked(demands, columns)

    refused = [node for node in columns.all_nodes() if not volume_zone.judge(demands, node).is_fit]
    assert {columns.index.names[slot] for slot in slots_of(outside)} == {n.name for n in refused}
