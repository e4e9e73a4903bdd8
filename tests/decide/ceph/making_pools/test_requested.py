from plimsoll.decide.ceph.labelled_pools import DOMAIN, GROUP
from plimsoll.decide.ceph.making_pools.crush_report import CrushDomain
from plimsoll.decide.ceph.making_pools.requested import PoolsRequest, as_class, wanted_pools

DOMAINS = tuple(CrushDomain(name=f"zone-{name}", leaves=1) for name in "abc")


def test_every_domain_gets_a_pool_and_all_share_the_journal() -> None:
    pools = list(wanted_pools(PoolsRequest(), DOMAINS))
    assert [(pool.name, pool.rule, pool.domain) for pool in pools] == [
        ("rbd-zone-a", "plimsoll-rbd-zone-a", "zone-a"),
        ("rbd-zone-b", "plimsoll-rbd-zone-b", "zone-b"),
        ("rbd-zone-c", "plimsoll-rbd-zone-c", "zone-c"),
        ("journal", "plimsoll-journal", ""),
    ]


def test_a_pool_is_labelled_as_nodes_call_its_domain() -> None:
    request = PoolsRequest(domains={"zone-b": "b"}, label="room", group="gold", journal="")
    (pool,) = wanted_pools(request, DOMAINS)
    assert pool.labels == {f"{DOMAIN}room": "b", GROUP: "gold"}
    assert as_class(pool, request).segments == (("room", "b"),)
    assert [take.bucket for take in pool.takes] == ["zone-b", "zone-c", "zone-a"]
