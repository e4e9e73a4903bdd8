import json

import pytest
from grpc import StatusCode

from plimsoll.decide.ceph.pool_choice import PoolSpread, VolumeReach
from plimsoll.processes.driver.backends.ceph.class_parameters import ServedClusters, one_cluster
from plimsoll.processes.driver.backends.rbd.class_parameters import (
    parse_class,
)
from plimsoll.processes.driver.backends.rbd.options import parse_options
from plimsoll.wire.csi.errors import CsiStatusError

GIVEN = {"monitors": "v2:127.0.0.1:3300", "user": "plimsoll", "keyFile": "key"}
OPTIONS = parse_options(GIVEN | {"clusterId": "east"})
OWN = one_cluster("east")
ZONED = json.dumps([{"poolName": "a", "dataPool": "ec-a"}, {"poolName": "b"}])


def test_a_class_with_one_pool_has_journal_and_images_in_it() -> None:
    found = parse_class({"pool": "rbd", "dataPool": "ec"}, OPTIONS, OWN)
    assert (found.journal_pool, [pool.name for pool in found.pools]) == ("rbd", ["rbd"])
    assert found.pools[0].data_pool == "ec"
    assert (found.features, found.name_prefix) == (("layering",), "csi-vol-")


def test_a_class_that_names_no_pool_has_that_of_the_driver() -> None:
    assert (
        parse_class({}, parse_options(GIVEN | {"pool": "rbd"}), one_cluster("")).journal_pool
        == "rbd"
    )


def test_a_class_with_zones_has_its_journal_apart() -> None:
    found = parse_class({"pool": "journal", "topologyConstrainedPools": ZONED}, OPTIONS, OWN)
    assert (found.journal_pool, [pool.name for pool in found.pools]) == ("journal", ["a", "b"])
    assert [pool.data_pool for pool in found.pools] == ["ec-a", ""]


def test_features_and_prefix_are_those_of_the_class() -> None:
    given = {"imageFeatures": "layering, exclusive-lock", "volumeNamePrefix": "pvc-"}
    found = parse_class({"pool": "rbd", "clusterID": "east"} | given, OPTIONS, OWN)
    assert (found.features, found.name_prefix) == (("layering", "exclusive-lock"), "pvc-")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        pytest.param({}, "pool: must be given", id="no-pool"),
        pytest.param({"pool": "a", "typo": ""}, "unknown typo; known are", id="unknown"),
        pytest.param({"pool": "a", "encrypted": "true"}, "cannot be encrypted", id="encrypted"),
        pytest.param({"pool": "a", "clusterID": "west"}, "this driver serves east", id="cluster"),
        pytest.param({"pool": "a", "imageFeatures": "x"}, "imageFeatures: x", id="feature"),
        pytest.param({"pool": "a", "topologyConstrainedPools": "{"}, "is not JSON", id="no-json"),
        pytest.param(
            {"pool": "a", "topologyConstrainedPools": '[{"poolName": "a", "clusterID": "west"}]'},
            "topologyConstrainedPools: clusterID: west: this driver serves east",
            id="another-cluster",
        ),
    ],
)
def test_a_class_that_cannot_be_is_refused(parameters: dict[str, str], told: str) -> None:
    with pytest.raises(CsiStatusError, match=told) as refusal:
        parse_class(parameters, OPTIONS, OWN)
    assert refusal.value.code is StatusCode.INVALID_ARGUMENT


def test_volumes_spread_by_free_space_and_stay_in_their_domain_unless_the_class_says_more() -> None:
    found = parse_class({"pool": "rbd"}, OPTIONS, OWN)
    assert (found.spread, found.reach) == (PoolSpread.FREE_SPACE, VolumeReach.DOMAIN)
    other = parse_class({"pool": "rbd", "spread": "Random", "reach": "Anywhere"}, OPTIONS, OWN)
    assert (other.spread, other.reach) == (PoolSpread.RANDOM, VolumeReach.ANYWHERE)


def test_a_class_may_have_a_factor_of_its_own() -> None:
    assert parse_class({"pool": "rbd"}, OPTIONS, OWN).overcommit is None
    assert parse_class({"pool": "rbd", "overcommit": "2.5"}, OPTIONS, OWN).overcommit == 2.5


def test_pools_of_a_group_are_found_by_their_labels() -> None:
    found = parse_class({"pool": "journal", "poolGroup": "fast"}, OPTIONS, OWN)
    assert (found.pools, found.group) == ((), "fast")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"spread": "Even"}, "spread: 'Even' is none of FreeSpace, Random"),
        ({"reach": "Zone"}, "reach: 'Zone' is none of"),
        ({"overcommit": "lots"}, "parameters: overcommit 'lots' is no number; write it like"),
        ({"overcommit": "0"}, "overcommit '0' must be more than 0, and at most 1000"),
        ({"overcommit": "-1"}, "overcommit '-1' is no number"),
        ({"overcommit": "1001"}, "overcommit '1001' must be more than 0, and at most 1000"),
        ({"poolGroup": "g", "dataPool": "ec"}, "poolGroup: cannot be given together"),
        ({"volumeNamePrefix": "../x"}, "volumeNamePrefix"),
        ({"volumeNamePrefix": "x" * 65}, "volumeNamePrefix"),
    ],
)
def test_a_class_that_asks_for_what_there_is_not_is_told_so(
    parameters: dict[str, str], told: str
) -> None:
    with pytest.raises(CsiStatusError, match=told):
        parse_class({"pool": "rbd"} | parameters, OPTIONS, OWN)


BOTH = json.dumps([{"poolName": "a"}, {"poolName": "b", "clusterID": "west"}])


def seen_from(cluster: str, **more: str) -> tuple[str, list[str], bool]:
    """The journal pool, the own pools, and whether the class is there at all."""
    served = ServedClusters(own=cluster, default="east", names=frozenset({"east", "west"}))
    options = parse_options(GIVEN | {"clusterId": cluster, "pool": f"journal-{cluster}"})
    found = parse_class({"topologyConstrainedPools": BOTH} | more, options, served)
    assert found.is_spread_over_clusters
    return found.journal_pool, [pool.name for pool in found.own_pools], found.is_here


def test_each_cluster_sees_its_own_pools_and_has_a_journal_of_its_own() -> None:
    assert seen_from("east", pool="here") == ("here", ["a"], True)
    assert seen_from("west", pool="here") == ("journal-west", ["b"], True)


def test_the_class_may_name_the_cluster_of_its_journal_and_of_entries_that_name_none() -> None:
    assert seen_from("west", clusterID="east") == ("journal-west", ["b"], True)
    served = ServedClusters(own="east", default="east", names=frozenset({"east", "west"}))
    parameters = {"pool": "rbd", "clusterID": "west"}
    found = parse_class(parameters, OPTIONS, served)
    assert (found.home, found.own_pools, found.is_here) == ("west", (), False)
