import json

import pytest

from plimsoll.processes.driver.backends.cephfs.class_parameters import parse_cephfs_class
from plimsoll.processes.driver.backends.cephfs.options import CephfsOptions
from plimsoll.wire.csi.errors import CsiStatusError

OPTIONS = CephfsOptions(monitors="m", user="u", key_file="k", fs_name="csi", cluster_id="one")
LISTED = "topologyConstrainedPools"


def listed(**more: str) -> str:
    segments = [{"domainLabel": "zone", "value": "a"}]
    return json.dumps([{"poolName": "data-a", "domainSegments": segments, **more}])


def test_the_pools_of_the_list_have_the_content() -> None:
    found = parse_cephfs_class({LISTED: listed(), "fsName": "csi", "pool": "ignored"}, OPTIONS)
    assert [pool.name for pool in found.pools] == ["data-a"]
    assert found.pools[0].segments == (("zone", "a"),)
    assert found.name_prefix == "csi-vol-"


def test_without_a_list_one_pool_has_the_content() -> None:
    found = parse_cephfs_class({"pool": "data"}, OPTIONS)
    assert [(pool.name, pool.segments) for pool in found.pools] == [("data", ())]


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        pytest.param({}, "topologyConstrainedPools or pool must be given", id="no-pool"),
        pytest.param({"pool": "p", "encrypted": "true"}, "cannot be encrypted", id="encryption"),
        pytest.param({"pool": "p", "colour": "red"}, "unknown colour; known are", id="unknown"),
        pytest.param({"pool": "p", "fsName": "other"}, "this driver serves csi", id="other-fs"),
        pytest.param({"pool": "p", "clusterID": "two"}, "this driver serves one", id="cluster"),
        pytest.param({LISTED: "nothing"}, LISTED, id="no-list"),
        pytest.param({LISTED: listed(dataPool="x")}, "dataPool is for images", id="data-pool"),
        pytest.param({"pool": "p", "volumeNamePrefix": "../x"}, "volumeNamePrefix", id="a-path"),
        pytest.param({"pool": "p", "volumeNamePrefix": "x" * 65}, "more than 64", id="long"),
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, str], told: str) -> None:
    with pytest.raises(CsiStatusError, match="parameters: ") as caught:
        parse_cephfs_class(parameters, OPTIONS)
    assert told in caught.value.detail
