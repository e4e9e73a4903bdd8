"""What is asked after everything that can happen, what is deleted, and what never is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.capacity.pools import PublishedPool
from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.publishing import CapacityCounts, CapacityQuestion, Publisher
from plimsoll.decide.capacity.reports import CapacityAnswer, CapacitySettings, PublishingPolicy
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN, CapacityToken
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.plan import Create, Delete, Patch, Plan
from tests.builders import (
    DRIVER,
    ZONE,
    a_capacity,
    a_class,
    a_csi_node,
    a_node,
    a_volume,
)

NOW = datetime(2024, 1, 1, tzinfo=UTC)
GRACE = timedelta(minutes=10)
GIB = 2**30
HOST = "example.com/host"
SETTINGS = CapacitySettings(
    driver=DRIVER, publisher="external-provisioner", namespace="plimsoll", grace=GRACE
)
COMPATIBLE = replace(SETTINGS, policy=PublishingPolicy.COMPATIBLE, grace=timedelta(0))


class Cluster:
    """A publisher with a driver that always answers and a server that stores what it is told."""

    def __init__(
        self, settings: CapacitySettings = SETTINGS, *, local: dict[str, str] | None = None
    ) -> None:
        self.publisher = Publisher(settings, local_topology=local)
        self.stored: dict[ObjectKey, CSIStorageCapacity] = {}
        self.answer = CapacityAnswer(10 * GIB)
        self.now = NOW
        self._numbers = count(1)

    def add_node(self, name: str, zone: str) -> None:
        self.publisher.put_node(a_node(name, labels={ZONE: zone}))
        self.publisher.put_csi_node(a_csi_node(name))

    def add_classes(self, *names: str) -> None:
        for name in names:
            self.publisher.put_class(a_class(name), self.now)

    def store(self, object_: CSIStorageCapacity) -> None:
        self.stored[object_.key] = object_
        self.publisher.put_object(object_, self.now)

    def settle(self) -> set[tuple[str, str]]:
        """Until nothing waits; which pairs were asked, each as its first value and its class."""
        self.publisher.catch_up(self.now)
        asked: set[tuple[str, str]] = set()
        self.enact(self.publisher.decide_removals(self.now))
        while (pair := self.publisher.take()) is not None:
            asked.add((pair.segment[0][1] if pair.segment else "", pair.storage_class))
            if self.publisher.question(pair) is not None:
                self.enact(self.publisher.answered(pair, self.answer, self.now))
            self.publisher.finish(pair, self.now)
        self.enact(self.publisher.decide_removals(self.now))
        return asked

    def enact(self, plan: Plan) -> None:
        for write in plan.writes:
            match write:
                case Create(document=document):
                    name = f"csisc-{next(self._numbers)}"
                    named = document["metadata"] | {"name": name, "uid": f"uid-{name}"}
                    self.store(from_document(CSIStorageCapacity, document | {"metadata": named}))
                case Patch(key=key, patch=patch):
                    known = self.stored[key]
                    told = patch.get("metadata", {}).get("annotations", {})
                    metadata = msgspec.structs.replace(
                        known.metadata, annotations={**known.annotations, **told}
                    )
                    changed = msgspec.structs.replace(
                        known,
                        metadata=metadata,
                        capacity=patch["capacity"],
                        maximum_volume_size=patch["maximumVolumeSize"],
                    )
                    self.store(changed)
                case Delete(key=key):
                    del self.stored[key]
                    self.publisher.remove_object(key)
                case _:
                    raise AssertionError(write)

    def published(self) -> dict[tuple[str, str], str | None]:
        return {(_value(o), o.storage_class_name): o.capacity for o in self.stored.values()}


def _value(object_: CSIStorageCapacity) -> str:
    topology = object_.node_topology
    assert topology is not None
    return next(iter(topology.match_labels.values()), "")


def a_cluster(settings: CapacitySettings = SETTINGS) -> Cluster:
    """Two zones and two classes, all published."""
    cluster = Cluster(settings)
    cluster.add_node("n1", "a")
    cluster.add_node("n2", "b")
    cluster.add_classes("fast", "slow")
    cluster.settle()
    return cluster


ALL = {("a", "fast"), ("a", "slow"), ("b", "fast"), ("b", "slow")}
IN_A = {("a", "fast"), ("a", "slow")}
FAST = {("a", "fast"), ("b", "fast")}


def marked(object_: CSIStorageCapacity) -> CSIStorageCapacity:
    metadata = msgspec.structs.replace(object_.metadata, labels=SETTINGS.labels)
    return msgspec.structs.replace(object_, metadata=metadata)


def test_every_segment_has_a_number_for_every_class() -> None:
    cluster = a_cluster()
    assert cluster.published() == dict.fromkeys(ALL, "10Gi")
    assert cluster.publisher.metrics == CapacityCounts(4, 4, 0)


def test_the_driver_gets_the_parameters_as_they_are_and_the_segment() -> None:
    publisher = Publisher(SETTINGS, local_topology={HOST: "n1"})
    parameters = {"layout": "mirrored", "csi.storage.k8s.io/fstype": "xfs"}
    publisher.put_class(msgspec.structs.replace(a_class(), parameters=parameters), NOW)
    pair = publisher.take()
    assert pair is not None
    assert publisher.question(pair) == CapacityQuestion(parameters, {HOST: "n1"})


def test_a_publisher_on_a_node_speaks_for_its_own_segment() -> None:
    cluster = Cluster(local={HOST: "n1", ZONE: "a"})
    cluster.add_node("n2", "b")
    cluster.add_classes("fast")
    assert cluster.settle() == {("n1", "fast")}
    cluster.publisher.provisioned(a_volume(reachable_from={ZONE: "a", HOST: "n1"}))
    assert cluster.settle() == {("n1", "fast")}


@pytest.mark.parametrize("binding_mode", ["WaitForFirstConsumer", ""])
def test_classes_with_delayed_binding_are_published(binding_mode: str) -> None:
    cluster = Cluster(local={HOST: "n1"})
    cluster.publisher.put_class(a_class("fast", binding_mode=binding_mode), NOW)
    cluster.publisher.put_class(a_class("now", binding_mode="Immediate"), NOW)
    cluster.publisher.put_class(a_class("other", provisioner="other.example.com"), NOW)
    assert cluster.settle() == {("n1", "fast")}


def test_classes_that_bind_at_once_are_published_on_request() -> None:
    cluster = Cluster(replace(SETTINGS, for_immediate_binding=True), local={HOST: "n1"})
    cluster.publisher.put_class(a_class("now", binding_mode="Immediate"), NOW)
    assert cluster.settle() == {("n1", "now")}


# What is asked again


def test_a_poll_asks_for_everything_and_writes_nothing_that_is_right() -> None:
    cluster = a_cluster()
    before = dict(cluster.stored)
    cluster.publisher.poll(NOW)
    assert cluster.settle() == ALL
    assert cluster.stored == before


def test_a_class_that_changes_is_asked_for_everywhere() -> None:
    cluster = a_cluster()
    cluster.publisher.put_class(a_class("fast"), NOW)
    assert cluster.settle() == FAST


def test_a_new_segment_is_asked_for_in_every_class() -> None:
    cluster = a_cluster()
    cluster.add_node("n3", "c")
    assert cluster.settle() == {("c", "fast"), ("c", "slow")}


def test_another_node_of_a_known_segment_changes_nothing() -> None:
    cluster = a_cluster()
    cluster.add_node("n3", "a")
    assert cluster.settle() == set()


def test_a_volume_changes_the_capacity_of_all_classes_where_it_is() -> None:
    cluster, volume = a_cluster(), a_volume(class_name="fast", reachable_from={ZONE: "a"})
    publisher = cluster.publisher
    for happens in (
        publisher.provisioned,
        publisher.deleted,
        publisher.expanded,
        publisher.snapshotted,
    ):
        happens(volume)
        assert cluster.settle() == IN_A


def test_a_volume_that_is_anywhere_changes_the_capacity_of_all_classes() -> None:
    cluster, volume = a_cluster(), a_volume(class_name="fast")
    publisher = cluster.publisher
    for happens in (
        publisher.provisioned,
        publisher.deleted,
        publisher.expanded,
        publisher.snapshotted,
    ):
        happens(volume)
        assert cluster.settle() == ALL


def test_a_volume_of_a_class_that_is_not_published_changes_the_capacity_of_the_others() -> None:
    cluster = a_cluster()
    cluster.publisher.put_class(a_class("now", binding_mode="Immediate"), cluster.now)
    cluster.publisher.deleted(a_volume(class_name="now"))
    assert cluster.settle() == ALL


def test_a_snapshot_of_a_volume_that_is_gone_changes_the_capacity_of_all_classes() -> None:
    cluster = a_cluster()
    cluster.publisher.snapshotted(None)
    assert cluster.settle() == ALL


def test_csi_provisioner_asks_again_for_the_class_of_a_volume_that_is_anywhere() -> None:
    cluster, volume = a_cluster(COMPATIBLE), a_volume(class_name="fast")
    cluster.publisher.provisioned(volume)
    assert cluster.settle() == FAST
    cluster.publisher.deleted(volume)
    assert cluster.settle() == set()


def test_a_volume_whose_place_has_a_name_of_its_own_changes_the_capacity_of_all_classes() -> None:
    cluster = a_cluster()
    volume = a_volume(class_name="fast", reachable_from={f"topology.{DRIVER}/serves.a": "true"})
    cluster.publisher.provisioned(volume)
    assert cluster.settle() == ALL


def test_a_volume_of_two_zones_changes_the_capacity_of_both_but_not_for_csi_provisioner() -> None:
    volume = a_volume(class_name="fast", reachable_from={ZONE: "a"})
    affinity = volume.spec.node_affinity
    assert affinity is not None
    assert affinity.required is not None
    (term,) = affinity.required.node_selector_terms
    (requirement,) = term.match_expressions
    both = msgspec.structs.replace(requirement, values=("a", "b"))
    term = msgspec.structs.replace(term, match_expressions=(both,))
    selector = msgspec.structs.replace(affinity.required, node_selector_terms=(term,))
    affinity = msgspec.structs.replace(affinity, required=selector)
    spec = msgspec.structs.replace(volume.spec, node_affinity=affinity)
    volume = msgspec.structs.replace(volume, spec=spec)

    for settings, expected in ((SETTINGS, ALL), (COMPATIBLE, set[tuple[str, str]]())):
        cluster = a_cluster(settings)
        cluster.publisher.provisioned(volume)
        assert cluster.settle() == expected


def test_a_refusal_throws_doubt_on_all_that_is_known_of_the_class() -> None:
    cluster = a_cluster()
    cluster.publisher.refused("fast")
    assert cluster.settle() == FAST


def test_a_volume_that_was_given_back_throws_doubt_on_all_classes() -> None:
    cluster = a_cluster()
    cluster.publisher.undone("fast")
    assert cluster.settle() == ALL


def test_an_object_that_a_user_deletes_is_made_again() -> None:
    cluster = a_cluster()
    key = next(iter(cluster.stored))
    del cluster.stored[key]
    cluster.publisher.remove_object(key)
    assert len(cluster.settle()) == 1
    assert cluster.published() == dict.fromkeys(ALL, "10Gi")


def test_a_number_that_another_writer_changes_is_put_right() -> None:
    cluster = a_cluster()
    object_ = next(iter(cluster.stored.values()))
    cluster.store(msgspec.structs.replace(object_, capacity="1Ti"))
    assert len(cluster.settle()) == 1
    assert cluster.published() == dict.fromkeys(ALL, "10Gi")


def test_an_object_that_says_what_the_driver_said_is_not_asked_about() -> None:
    cluster = a_cluster()
    for object_ in list(cluster.stored.values()):
        cluster.store(object_)
    assert cluster.settle() == set()


def test_an_object_that_loses_its_labels_is_given_up_and_made_again() -> None:
    cluster = a_cluster()
    object_ = next(iter(cluster.stored.values()))
    metadata = msgspec.structs.replace(object_.metadata, labels={})
    cluster.store(msgspec.structs.replace(object_, metadata=metadata))
    assert len(cluster.settle()) == 1
    assert object_.key in cluster.stored
    assert len(cluster.stored) == 5


def test_the_number_stays_when_the_driver_gives_no_answer() -> None:
    cluster = a_cluster()
    cluster.publisher.poll(NOW)
    while (pair := cluster.publisher.take()) is not None:
        cluster.publisher.unanswered(pair)
        cluster.publisher.finish(pair, NOW)
    assert cluster.publisher.decide_removals(NOW).writes == ()
    assert cluster.publisher.rounds.unanswered_count == 4
    assert len(cluster.stored) == 4


def test_an_answer_that_comes_too_late_is_not_published() -> None:
    cluster = a_cluster()
    cluster.publisher.poll(NOW)
    pair = cluster.publisher.take()
    assert pair is not None
    cluster.publisher.remove_class(pair.storage_class, NOW)
    assert cluster.publisher.question(pair) is None
    assert cluster.publisher.answered(pair, CapacityAnswer(1), NOW).writes == ()


def test_a_driver_without_topology_keys_keeps_one_object() -> None:
    cluster = Cluster()
    cluster.publisher.put_node(a_node("n1"))
    cluster.publisher.put_csi_node(a_csi_node("n1", topology_keys=()))
    cluster.add_classes("fast")
    cluster.settle()
    before = dict(cluster.stored)
    cluster.publisher.poll(NOW)
    assert cluster.settle() == {("", "fast")}
    assert cluster.stored == before
    assert len(before) == 1


# What is deleted


def test_objects_go_with_their_class() -> None:
    cluster = a_cluster()
    cluster.publisher.remove_class("fast", NOW)
    cluster.settle()
    assert set(cluster.published()) == {("a", "slow"), ("b", "slow")}


def test_objects_of_a_class_that_binds_at_once_now_are_deleted_but_not_by_csi_provisioner() -> None:
    for settings, left in ((SETTINGS, ALL - FAST), (COMPATIBLE, ALL)):
        cluster = a_cluster(settings)
        cluster.publisher.put_class(a_class("fast", binding_mode="Immediate"), NOW)
        cluster.settle()
        assert set(cluster.published()) == left


def test_a_driver_that_restarts_keeps_its_objects() -> None:
    cluster = a_cluster()
    before = dict(cluster.stored)
    for node in ("n1", "n2"):
        cluster.publisher.put_csi_node(a_csi_node(node, driver="other.example.com"))
    cluster.settle()
    assert cluster.stored == before
    assert cluster.publisher.decide_removals(NOW).recheck_after == GRACE

    cluster.now += GRACE / 2
    for node in ("n1", "n2"):
        cluster.publisher.put_csi_node(a_csi_node(node))
    assert cluster.settle() == ALL
    cluster.now += GRACE
    cluster.settle()
    assert cluster.stored == before


def test_a_publisher_that_restarts_with_its_driver_keeps_the_objects_that_it_finds() -> None:
    cluster = Cluster()
    cluster.add_classes("fast")
    cluster.store(marked(a_capacity(segment={ZONE: "a"}, gib=3, class_name="fast")))
    cluster.settle()
    assert set(cluster.published()) == {("a", "fast")}
    cluster.add_node("n1", "a")
    assert cluster.settle() == {("a", "fast")}
    assert cluster.published() == {("a", "fast"): "10Gi"}
    assert len(cluster.stored) == 1


def test_a_driver_that_does_not_come_back_loses_its_objects() -> None:
    cluster = a_cluster()
    cluster.publisher.remove_csi_node("n1")
    cluster.settle()
    assert cluster.publisher.metrics == CapacityCounts(2, 2, 2)
    cluster.now += GRACE
    cluster.settle()
    assert set(cluster.published()) == {("b", "fast"), ("b", "slow")}


def test_no_object_waits_for_the_segment_of_a_class_that_is_gone() -> None:
    cluster = a_cluster()
    cluster.publisher.remove_csi_node("n1")
    cluster.publisher.catch_up(NOW)
    cluster.publisher.remove_class("fast", NOW)
    cluster.settle()
    assert set(cluster.published()) == {("a", "slow"), ("b", "slow")}


def test_duplicates_are_deleted_at_once() -> None:
    cluster = a_cluster()
    cluster.store(marked(a_capacity("twin", segment={ZONE: "a"}, gib=10, class_name="fast")))
    cluster.settle()
    assert len(cluster.stored) == 4
    assert "twin" not in {key.name for key in cluster.stored}


def test_objects_made_by_hand_and_those_of_others_are_never_touched() -> None:
    cluster = a_cluster()
    by_hand = a_capacity("by-hand", segment={ZONE: "z"}, gib=1, class_name="gone")
    elsewhere = marked(a_capacity("x", segment={ZONE: "z"}, gib=1, namespace="other"))
    for object_ in (by_hand, elsewhere):
        cluster.store(object_)
    cluster.now += 10 * GRACE
    cluster.publisher.poll(cluster.now)
    cluster.settle()
    assert {by_hand.key, elsewhere.key} <= set(cluster.stored)


def test_an_object_that_is_being_deleted_is_not_deleted_again() -> None:
    publisher = Publisher(SETTINGS)
    object_ = marked(a_capacity(segment={ZONE: "a"}, gib=1))
    metadata = msgspec.structs.replace(object_.metadata, deletion_timestamp=NOW)
    publisher.put_object(msgspec.structs.replace(object_, metadata=metadata), NOW)
    assert publisher.decide_removals(NOW).writes == ()


ZONES = st.sampled_from(["a", "b", "c"])
NODES = st.sampled_from(["n1", "n2", "n3"])
CLASSES = st.sampled_from(["fast", "slow"])


class PublishedMatchesTheCluster(RuleBasedStateMachine):
    """Whatever happens in whatever order, after the dust has settled there is one object for each
    segment and class, with the driver's number, and never is there more work than pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(replace(SETTINGS, grace=timedelta(0)))
        self.zones: dict[str, str] = {}
        self.registered: set[str] = set()
        self.classes: set[str] = set()

    @rule(name=NODES, zone=ZONES)
    def label(self, name: str, zone: str) -> None:
        self.zones[name] = zone
        self.cluster.publisher.put_node(a_node(name, labels={ZONE: zone}))

    @rule(name=NODES)
    def lose_node(self, name: str) -> None:
        self.zones.pop(name, None)
        self.cluster.publisher.remove_node(name)

    @rule(name=NODES)
    def register(self, name: str) -> None:
        self.registered.add(name)
        self.cluster.publisher.put_csi_node(a_csi_node(name))

    @rule(name=NODES)
    def unregister(self, name: str) -> None:
        self.registered.discard(name)
        self.cluster.publisher.put_csi_node(a_csi_node(name, driver="other.example.com"))

    @rule(name=CLASSES)
    def add_class(self, name: str) -> None:
        self.classes.add(name)
        self.cluster.add_classes(name)

    @rule(name=CLASSES)
    def lose_class(self, name: str) -> None:
        self.classes.discard(name)
        self.cluster.publisher.remove_class(name, NOW)

    @rule(name=st.sampled_from(["x", "y"]), zone=ZONES, class_name=CLASSES)
    def another_publisher_publishes(self, name: str, zone: str, class_name: str) -> None:
        object_ = marked(a_capacity(name, segment={ZONE: zone}, gib=7, class_name=class_name))
        self.cluster.store(object_)

    @rule(data=st.data())
    def another_writer_deletes(self, data: st.DataObject) -> None:
        if self.cluster.stored:
            key = data.draw(st.sampled_from(sorted(self.cluster.stored)))
            del self.cluster.stored[key]
            self.cluster.publisher.remove_object(key)

    @rule(gib=st.integers(0, 3))
    def capacity_changes(self, gib: int) -> None:
        self.cluster.answer = CapacityAnswer(gib * GIB)
        self.cluster.publisher.poll(NOW)

    @rule(zone=ZONES)
    def volume_is_made(self, zone: str) -> None:
        self.cluster.publisher.provisioned(a_volume(reachable_from={ZONE: zone}))

    def wanted(self) -> set[tuple[str, str]]:
        zones = {self.zones[name] for name in self.registered & self.zones.keys()}
        return {(zone, name) for zone in zones for name in self.classes}

    @rule()
    def settle(self) -> None:
        # A number that was right when it was asked for may be old by now.
        self.cluster.publisher.catch_up(NOW)
        self.cluster.publisher.poll(NOW)
        self.cluster.settle()
        published = self.cluster.published()
        assert set(published) == self.wanted()
        assert len(self.cluster.stored) == len(published)
        assert len(set(published.values())) <= 1
        assert self.cluster.publisher.metrics == CapacityCounts(len(published), len(published), 0)

    @invariant()
    def no_more_work_than_pairs(self) -> None:
        assert self.cluster.publisher.waiting <= self.cluster.publisher.metrics.desired_goal


TestPublishedMatchesTheCluster = PublishedMatchesTheCluster.TestCase


def test_the_work_that_waits_is_bounded() -> None:
    cluster = a_cluster()
    for _ in range(100):
        cluster.publisher.poll(NOW)
        cluster.publisher.refused("fast")
        cluster.publisher.provisioned(a_volume(reachable_from={ZONE: "a"}))
    assert cluster.publisher.waiting == 4


def test_a_pair_that_is_not_wanted_is_not_asked() -> None:
    publisher = a_cluster().publisher
    publisher.ask(Pair(((ZONE, "z"),), "fast"))
    assert publisher.take() is None


def test_one_answer_serves_all_classes_that_ask_the_same() -> None:
    cluster = Cluster()
    cluster.add_node("node-1", "a")
    cluster.add_node("node-2", "b")
    for name, parameters in (("one", {"kind": "ssd"}), ("two", {"kind": "ssd"}), ("other", {})):
        class_ = msgspec.structs.replace(a_class(name), parameters=parameters)
        cluster.publisher.put_class(class_, NOW)
    publisher = cluster.publisher
    publisher.catch_up(NOW)

    pair = publisher.take()
    assert pair is not None
    alike = publisher.take_alike(pair)

    assert {pair.storage_class, *(each.storage_class for each in alike)} == {"one", "two"}
    assert {each.segment for each in alike} == {pair.segment}
    assert publisher.take_alike(pair) == [], "they are taken"
    for each in (pair, *alike):
        assert publisher.answered(each, CapacityAnswer(GIB), NOW).writes
        publisher.finish(each, NOW)
    assert publisher.waiting == 4


def test_what_does_not_wait_is_not_asked_about_again() -> None:
    cluster = Cluster()
    cluster.add_node("node-1", "a")
    cluster.add_classes("one")
    cluster.publisher.catch_up(NOW)
    first = cluster.publisher.take()
    assert first is not None
    cluster.publisher.finish(first, NOW)
    cluster.add_classes("two")
    second = cluster.publisher.take()
    assert second is not None

    assert cluster.publisher.take_alike(second) == []


@pytest.mark.parametrize(
    ("pools", "asked"),
    [
        pytest.param(("regional",), {("a", "fast"), ("b", "fast")}, id="the-zones-share-a-pool"),
        pytest.param((), {("a", "fast")}, id="no-pool-is-known"),
    ],
)
def test_every_object_about_a_pool_is_to_reach_the_token_of_a_volume_in_it(
    pools: tuple[str, ...], asked: set[tuple[str, str]]
) -> None:
    """The volume is said to be in zone a. If zone b was asked about after the volume was made and
    before it was recorded, its number does not change any more."""
    listed = tuple(PublishedPool(name=name, free={"": GIB}, cost=Cost()) for name in pools)
    before, after = CapacityToken(1, 0, 4), CapacityToken(1, 0, 5)
    cluster = Cluster()
    cluster.answer = replace(cluster.answer, pools=listed, token=before)
    cluster.add_node("n1", "a")
    cluster.add_node("n2", "b")
    cluster.add_classes("fast")
    cluster.settle()

    cluster.publisher.put_volume(a_recorded_volume(after))

    assert cluster.settle() == asked


def a_recorded_volume(token: CapacityToken) -> PersistentVolume:
    """In zone a."""
    volume = a_volume("vol", reachable_from={ZONE: "a"})
    told = msgspec.structs.replace(volume.metadata, annotations={CAPACITY_TOKEN: str(token)})
    return msgspec.structs.replace(volume, metadata=told)


def tokens_by_zone(cluster: Cluster) -> dict[str, str]:
    return {_value(each): each.annotations[CAPACITY_TOKEN] for each in cluster.stored.values()}


BEFORE, RECORDED, LATER = CapacityToken(1, 0, 4), CapacityToken(1, 0, 5), CapacityToken(1, 1, 0)


def a_cluster_with_tokens(pools: tuple[PublishedPool, ...] = ()) -> Cluster:
    """Two zones and a class, published before a volume is recorded in zone a."""
    cluster = Cluster()
    cluster.answer = replace(cluster.answer, pools=pools, token=BEFORE)
    cluster.add_node("n1", "a")
    cluster.add_node("n2", "b")
    cluster.add_classes("fast")
    cluster.settle()
    cluster.answer = replace(cluster.answer, token=LATER)
    return cluster


@pytest.mark.parametrize(
    ("pools", "in_b"),
    [
        pytest.param((), BEFORE, id="each-zone-has-a-pool"),
        pytest.param(
            (PublishedPool(name="regional", free={"": GIB}, cost=Cost()),),
            LATER,
            id="the-zones-share-a-pool",
        ),
    ],
)
def test_the_next_publisher_reports_a_volume_that_it_sees_before_the_nodes(
    pools: tuple[PublishedPool, ...], in_b: CapacityToken
) -> None:
    """The publisher before it ended between the recording and the report, and the number is the
    same: without the token the scheduler would reserve room for the volume for ever."""
    cluster = a_cluster_with_tokens(pools)
    cluster.publisher = Publisher(SETTINGS)
    for object_ in [*cluster.stored.values()]:
        cluster.publisher.put_object(object_, NOW)
    cluster.publisher.put_volume(a_recorded_volume(RECORDED))
    cluster.add_classes("fast")
    cluster.add_node("n1", "a")
    cluster.add_node("n2", "b")

    cluster.settle()

    assert tokens_by_zone(cluster) == {"a": str(LATER), "b": str(in_b)}


def test_a_volume_that_was_recorded_while_its_segment_was_away_is_reported() -> None:
    """The driver was started again on the only node of the zone."""
    cluster = a_cluster_with_tokens()
    cluster.publisher.remove_csi_node("n1")
    cluster.settle()
    cluster.publisher.put_volume(a_recorded_volume(RECORDED))
    cluster.add_node("n1", "a")

    cluster.settle()

    assert tokens_by_zone(cluster)["a"] == str(LATER)
