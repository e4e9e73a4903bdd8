from plimsoll.decide.ceph.constrained_pools import ConstrainedPool, DomainSegment
from plimsoll.decide.ceph.labelled_pools import PoolMetadata, labelled_pools

METADATA: PoolMetadata = {
    "rbd-b": {"rbd": {"plimsoll.domain.zone": "b", "plimsoll.domain.region": "east"}},
    "rbd-a": {"rbd": {"plimsoll.domain.zone": "a", "plimsoll.data-pool": "ec-a"}},
    "fast-a": {"rbd": {"plimsoll.domain.zone": "a", "plimsoll.group": "fast"}},
    "data-a": {"cephfs": {"plimsoll.domain.zone": "a", "data": "cephfs"}},
    "plain": {"rbd": {"plimsoll.domain.zone": "", "plimsoll.domain.": "x"}},
    ".mgr": {"mgr": {}},
}


def test_pools_tell_the_domain_and_the_pool_of_their_data() -> None:
    assert labelled_pools(METADATA, application="rbd", cluster_id="c1") == (
        ConstrainedPool(
            name="rbd-a",
            data_pool="ec-a",
            segments=(DomainSegment("zone", "a"),),
            cluster_id="c1",
        ),
        ConstrainedPool(
            name="rbd-b",
            segments=(DomainSegment("region", "east"), DomainSegment("zone", "b")),
            cluster_id="c1",
        ),
    )


def test_a_group_of_pools_is_for_a_class_that_names_it() -> None:
    assert [pool.name for pool in labelled_pools(METADATA, application="rbd", group="fast")] == [
        "fast-a"
    ]


def test_each_application_has_its_own_pools() -> None:
    assert [pool.name for pool in labelled_pools(METADATA, application="cephfs")] == ["data-a"]
