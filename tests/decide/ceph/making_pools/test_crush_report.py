from plimsoll.decide.ceph.making_pools.crush_report import CrushDomain
from plimsoll.decide.ceph.making_pools.crush_rules import Take
from tests.decide.ceph.making_pools.clusters import SmallCluster, a_pool


def test_domains_are_found_with_the_hosts_that_can_hold_a_copy() -> None:
    cluster = SmallCluster(zone_b=2, zone_a=1, zone_c=0)
    found = cluster.report().domains("default", domain_type="zone", leaf="host")
    assert found == (
        CrushDomain(name="zone-a", leaves=1),
        CrushDomain(name="zone-b", leaves=2),
        CrushDomain(name="zone-c", leaves=0),
    )


def test_osds_are_leaves_too() -> None:
    found = SmallCluster(zone_a=3).report().domains("default", domain_type="zone", leaf="osd")
    assert [domain.leaves for domain in found] == [3]


def test_copies_of_buckets_for_a_class_of_devices_are_no_buckets() -> None:
    report = SmallCluster(zone_a=1).report()
    assert report.has_bucket("default")
    assert not report.has_bucket("default~ssd")


def test_a_rule_of_ours_is_read_and_others_are_told_apart() -> None:
    cluster = SmallCluster(zone_a=1)
    take, leaf = {"op": "take", "item_name": "zone-a"}, {"num": 1, "type": "host"}
    cluster.add_rule("ours", [take, {"op": "chooseleaf_firstn", **leaf}, {"op": "emit"}])
    cluster.add_rule("indep", [take, {"op": "chooseleaf_indep", **leaf}, {"op": "emit"}])
    report = cluster.report()
    assert report.rule("ours") == (Take(bucket="zone-a", number=1, type="host"),)
    assert report.rule("indep") == ()
    assert report.rule("none") is None
    assert report.first_free_id == 3


def test_a_pool_is_known_by_its_rule() -> None:
    cluster = SmallCluster(zone_a=1)
    cluster.pools["p"] = a_pool("p", application_metadata={"rbd": {"k": "v"}})
    found = cluster.report().pool("p")
    assert found is not None
    assert (found.rule, found.size, found.applications) == (
        "replicated_rule",
        3,
        {"rbd": {"k": "v"}},
    )
    assert cluster.report().pool("q") is None
