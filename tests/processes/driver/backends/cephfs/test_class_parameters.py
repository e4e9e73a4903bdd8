import json

import msgspec
import pytest

from plimsoll.processes.driver.backends.ceph.class_parameters import ServedClusters, one_cluster
from plimsoll.processes.driver.backends.cephfs.class_parameters import parse_cephfs_class
from plimsoll.processes.driver.backends.cephfs.options import CephfsOptions
from plimsoll.wire.csi.errors import CsiStatusError

OPTIONS = CephfsOptions(monitors="m", user="u", key_file="k", fs_name="csi", cluster_id="one")
OWN = one_cluster("one")
LISTED = "topologyConstrainedPools"


def listed(**more: str) -> str:
    segments = [{"domainLabel": "zone", "value": "a"}]
    return json.dumps([{"poolName": "data-a", "domainSegments": segments, **more}])


def test_the_pools_of_the_list_have_the_content() -> None:
    found = parse_cephfs_class({LISTED: listed(), "fsName": "csi", "pool": "ignored"}, OPTIONS, OWN)
    assert [pool.name for pool in found.pools] == ["data-a"]
    assert found.pools[0].segments == (("zone", "a"),)
    assert found.name_prefix == "csi-vol-"


def test_without_a_list_one_pool_has_the_content() -> None:
    found = parse_cephfs_class({"pool": "data"}, OPTIONS, OWN)
    assert [(pool.name, pool.segments) for pool in found.pools] == [("data", ())]


def test_pools_of_a_group_are_found_by_their_labels() -> None:
    found = parse_cephfs_class({"poolGroup": "fast"}, OPTIONS, OWN)
    assert (found.pools, found.group, found.is_here) == ((), "fast", True)


def test_a_class_may_have_a_factor_of_its_own() -> None:
    assert parse_cephfs_class({"pool": "p"}, OPTIONS, OWN).overcommit is None
    assert parse_cephfs_class({"pool": "p", "overcommit": "3"}, OPTIONS, OWN).overcommit == 3


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        pytest.param({}, "topologyConstrainedPools or pool must be given", id="no-pool"),
        pytest.param({"pool": "p", "encrypted": "true"}, "cannot be encrypted", id="encryption"),
        pytest.param({"pool": "p", "colour": "red"}, "unknown colour; known are", id="unknown"),
        pytest.param({"pool": "p", "fsName": "other"}, "this driver serves csi", id="other-fs"),
        pytest.param({"pool": "p", "clusterID": "two"}, "this driver serves one", id="cluster"),
        pytest.param({LISTED: "nothing"}, LISTED, id="no-list"),
        pytest.param({LISTED: listed(clusterID="two")}, "this driver serves one", id="unknown"),
        pytest.param({LISTED: listed(dataPool="x")}, "dataPool is for images", id="data-pool"),
        pytest.param({"pool": "p", "volumeNamePrefix": "../x"}, "volumeNamePrefix", id="a-path"),
        pytest.param({"pool": "p", "volumeNamePrefix": "x" * 65}, "at most 64", id="long"),
        pytest.param({"poolGroup": "g", LISTED: listed()}, "cannot be given together", id="both"),
        pytest.param({"poolGroup": ""}, "must name a group", id="no-group"),
        pytest.param({"pool": "p", "overcommit": "lots"}, "is no number", id="overcommit"),
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, str], told: str) -> None:
    with pytest.raises(CsiStatusError, match="parameters: ") as caught:
        parse_cephfs_class(parameters, OPTIONS, OWN)
    assert told in caught.value.detail


BOTH = json.dumps([{"poolName": "a"}, {"poolName": "b", "clusterID": "two"}])
NAMES = frozenset({"one", "two"})


def seen_from(cluster: str, **parameters: str) -> tuple[str, list[str], bool]:
    """The cluster of the class, the own pools, and whether the class is there at all."""
    served = ServedClusters(own=cluster, default="one", names=NAMES)
    options = msgspec.structs.replace(OPTIONS, cluster_id=cluster, fs_name=f"fs-{cluster}")
    found = parse_cephfs_class(parameters, options, served)
    return found.home, [pool.name for pool in found.own_pools], found.is_here


def test_each_cluster_sees_its_own_pools_and_only_that_of_the_class_its_file_system() -> None:
    assert seen_from("one", **{LISTED: BOTH, "fsName": "fs-one"}) == ("one", ["a"], True)
    assert seen_from("two", **{LISTED: BOTH, "fsName": "fs-one"}) == ("one", ["b"], True)
    with pytest.raises(CsiStatusError, match="this driver serves fs-two"):
        seen_from("two", **{LISTED: BOTH, "fsName": "fs-one", "clusterID": "two"})


def test_a_class_of_another_cluster_has_its_pool_there_alone() -> None:
    assert seen_from("one", clusterID="two") == ("two", [], False)
    assert seen_from("two", clusterID="two", pool="data") == ("two", ["data"], True)
