"""What is known about each published object."""

from dataclasses import replace
from datetime import timedelta

import msgspec

from plimsoll.decide.capacity.overview import narrowed, overview_of, pools_of, reached
from plimsoll.decide.capacity.volume_sizes import Cost
from tests.builders import DRIVER, ZONE, a_capacity
from tests.decide.capacity.scenes import (
    HOST,
    NOW,
    a_lease,
    in_pool,
    observed,
    published,
    publisher_lease,
    seen,
)


def test_objects_of_two_classes_that_name_a_pool_are_shown_as_one() -> None:
    mirrored = Cost(copies=2, shares=2)
    overview = seen(
        in_pool(published("one"), Cost(), a=5, b=7),
        in_pool(published("two", class_name="safe"), mirrored, a=4, b=7, new=9),
        in_pool(published("three", {ZONE: "b"}), Cost(), name="others", c=1),
        published("four", class_name="slow"),
    )
    first, second = pools_of(overview)
    assert (first.driver, first.name, first.free) == (DRIVER, "disks", {"a": 4, "b": 7})
    assert first.costs == {"fast": Cost(), "safe": mirrored}
    assert [key.name for key in first.objects] == ["one", "two"]
    assert (second.name, second.free_bytes) == ("others", 1)


def test_objects_are_sorted_by_class_and_place() -> None:
    overview = seen(
        published("one", {ZONE: "b"}),
        published("two", {ZONE: "a"}),
        published("three", class_name="also-fast"),
    )
    assert [entry.capacity.name for entry in overview.entries] == ["three", "two", "one"]


def test_an_object_knows_its_nodes_and_its_publisher() -> None:
    (entry,) = seen(published(segment={HOST: "n2"})).entries
    assert entry.nodes == frozenset({"n2"})
    assert (entry.driver, entry.publisher) == (DRIVER, "external-provisioner")
    assert entry.is_owned
    assert not entry.is_template


def test_the_driver_of_an_object_made_by_hand_is_that_of_its_class() -> None:
    (entry,) = seen(a_capacity(segment={ZONE: "a"}, gib=1)).entries
    assert (entry.driver, entry.publisher) == (DRIVER, "")


def test_a_publishers_lease_says_when_it_last_looked() -> None:
    lease = publisher_lease(minutes_ago=1)
    (entry,) = overview_of(replace(observed(published()), leases=[lease])).entries
    assert entry.freshness is not None
    assert entry.freshness.looked_at == NOW - timedelta(minutes=1)


def test_leaders_are_known_of_publishers_for_all_nodes() -> None:
    leader = a_lease("local-plimsoll-dev", minutes_ago=1)
    by_node = published("two")
    labels = dict(by_node.labels) | {"csi.storage.k8s.io/managed-by": "external-provisioner-n1"}
    metadata = msgspec.structs.replace(by_node.metadata, labels=labels)
    by_node = msgspec.structs.replace(by_node, metadata=metadata)
    overview = overview_of(replace(observed(published("one"), by_node), leases=[leader]))
    assert [entry.leader is not None for entry in overview.entries] == [True, False]


def test_an_object_is_owned_while_one_owner_lives() -> None:
    scene = replace(
        observed(published("one", owners=["dead"]), published("two", owners=["dead", "alive"])),
        missing_owners={"dead"},
    )
    assert [entry.is_owned for entry in overview_of(scene).entries] == [False, True]


def test_an_overview_can_be_narrowed_to_a_driver_or_class() -> None:
    overview = seen(published("one"), published("two", class_name="slow"))
    assert len(narrowed(overview).entries) == 2
    assert [e.capacity.name for e in narrowed(overview, storage_class="slow").entries] == ["two"]
    assert narrowed(overview, driver="other").entries == ()


def test_nodes_that_several_objects_are_about_are_counted_once() -> None:
    overview = seen(published("one"), published("two"), published("three", {HOST: "n2"}))
    assert reached(overview.entries) == {"n1", "n2"}
