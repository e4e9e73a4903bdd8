import json
from typing import Any

import pytest

from plimsoll.decide.ceph.constrained_pools import (
    ConstrainedPool,
    DomainSegment,
    compatible_pools,
    parse_constrained_pools,
)

ZONE = {"domainLabel": "zone", "value": "a"}


def text(*pools: Any) -> str:
    return json.dumps(pools, indent=2)


def test_a_pool_has_a_name_a_data_pool_domains_and_a_cluster() -> None:
    given = {"poolName": "p", "dataPool": "ec", "domainSegments": [ZONE], "clusterID": "c2"}
    assert parse_constrained_pools(text(given)) == (
        ConstrainedPool(
            name="p", data_pool="ec", segments=(DomainSegment("zone", "a"),), cluster_id="c2"
        ),
    )


def test_the_whole_name_of_a_label_is_as_good_as_the_short_one() -> None:
    segment = {"domainLabel": "topology.kubernetes.io/zone", "value": "a"}
    given = text({"poolName": "p", "domainSegments": [segment]})
    (pool,) = parse_constrained_pools(given)
    assert pool.segments == (DomainSegment("zone", "a"),)
    (pool,) = compatible_pools(given)
    assert pool.segments == (DomainSegment("topology.kubernetes.io/zone", "a"),)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        pytest.param("[{'poolName': 'p'}]", "is not JSON", id="python-quotes"),
        pytest.param("[NaN]", "NaN is no value", id="no-number"),
        pytest.param("[" * 100_000, "is not JSON", id="too-deep"),
        pytest.param("[]", "names no pool", id="empty"),
        pytest.param("null", "names no pool", id="null"),
        pytest.param("{}", "must be a list", id="no-list"),
        pytest.param("[1]", r"\[0\] must be an object", id="no-object"),
        pytest.param(text({"poolName": 5}), r"\[0\]\.poolName must be a text", id="no-text"),
        pytest.param(text({"domainSegments": [ZONE]}), r"\[0\] has no poolName", id="no-pool"),
        pytest.param(
            text({"poolName": "p", "domainSegment": [ZONE]}),
            r"\[0\]\.domainSegment is not known; known are poolName",
            id="misspelled",
        ),
        pytest.param(
            text({"poolName": "p", "domainSegments": [{"domainLabel": "zone"}]}),
            r"domainSegments\[0\] needs a domainLabel and a value",
            id="no-value",
        ),
        pytest.param(
            text({"poolName": "p", "domainSegments": [ZONE, ZONE | {"value": "b"}]}),
            "cannot be in zone a and b at once",
            id="nowhere",
        ),
    ],
)
def test_what_could_place_no_volume_is_refused(given: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_constrained_pools(given)


def test_ceph_csi_takes_keys_in_any_case_and_the_last_of_two() -> None:
    given = '[{"PoolName":"p1","poolname":"p2","POOLNAME":null,"x":1,"domainSegments":null}]'
    assert compatible_pools(given) == (ConstrainedPool(name="p2"),)


def test_line_breaks_become_blanks_also_inside_of_names() -> None:
    assert compatible_pools('[{"poolName":"a\nb"}]') == (ConstrainedPool(name="a b"),)
