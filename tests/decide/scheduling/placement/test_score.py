"""Where the preferences of classes and pods put a pod: whole decisions, then the score alone."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import parse_quantity
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import HEADROOM, PLACEMENT, PLACEMENT_WEIGHT, STATIC_VOLUMES
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.columns.capacity import largest_volume
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Judge, Judged, KernelSettings
from plimsoll.decide.scheduling.kernel import Kernel, Placement
from plimsoll.decide.scheduling.picking import HEADROOM_BITS, STATIC_BITS
from plimsoll.decide.scheduling.placement.preference import (
    NO_PREFERENCE,
    Headroom,
    PlacementDirection,
    PlacementPreference,
    StaticPreference,
    find_class_preference,
    find_override,
)
from plimsoll.decide.scheduling.placement.score import PlacedClaim, PlacementColumns
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.profiles.profile import Profile, SchedulerPlugin
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import is_in_segment
from plimsoll.decide.scheduling.rules.volume_binding.score import (
    DEFAULT_SHAPE,
    Usage,
    UsageColumns,
    score_usage,
)
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from plimsoll.decide.scheduling.view import Cluster
from tests.builders import a_capacity, a_claim, a_class, a_driver, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import on_host
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_random_cluster,
    an_object,
    seeds,
)

T = TypeVar("T", StorageClass, Pod)
SMALL, LARGE = "small", "large"


def saying(object_: T, annotations: Mapping[str, str]) -> T:
    metadata = msgspec.structs.replace(object_.metadata, annotations=annotations)
    return msgspec.structs.replace(object_, metadata=metadata)


def two_nodes(*more: ApiObject, small: int = 100, large: int = 1000) -> list[ApiObject]:
    """Alike but for their capacity, in GiB."""
    capacities = [
        a_capacity(name, segment=on_host(name), gib=gib)
        for name, gib in ((SMALL, small), (LARGE, large))
    ]
    return [a_node(SMALL), a_node(LARGE), a_driver(), *capacities, *more]


def chosen(
    cluster: Sequence[ApiObject],
    pod: Pod | None = None,
    *,
    policy: Policy = Policy.DEFAULT,
) -> str:
    kernel = Kernel(Columns.of(cluster), KernelSettings(policy))
    # Of equal nodes each attempt takes another: the choice has to be the same for both.
    found = [kernel.decide(pod or a_pod(claims=["data"]), attempt=each) for each in (0, 1)]
    names = {each.node for each in found if isinstance(each, Placement)}
    return names.pop() if len(names) == 1 else ""


@pytest.mark.parametrize(
    ("annotations", "node"),
    [
        ({}, ""),
        ({PLACEMENT: "spread"}, LARGE),
        ({PLACEMENT: "pack"}, SMALL),
        ({PLACEMENT: "spread", PLACEMENT_WEIGHT: "0"}, ""),
        ({PLACEMENT: "pack", HEADROOM: "1%"}, SMALL),
        ({PLACEMENT: "pack", HEADROOM: "200Gi"}, LARGE),
        ({PLACEMENT: "pack", HEADROOM: "100%"}, SMALL),
        ({HEADROOM: "200Gi"}, LARGE),
        ({PLACEMENT: "tight"}, ""),
    ],
    ids=[
        "a volume that is small beside both fills neither",
        "spread",
        "pack",
        "without weight",
        "pack while the headroom is left",
        "not where the headroom would be used",
        "anywhere, if it would be used everywhere",
        "headroom without a direction",
        "unreadable",
    ],
)
def test_a_class_says_where_its_volumes_go(annotations: dict[str, str], node: str) -> None:
    class_ = saying(a_class(), annotations)
    assert chosen(two_nodes(class_, a_claim(), small=200, large=400)) == node


@pytest.mark.parametrize("annotations", [{PLACEMENT: "pack"}, {HEADROOM: "500Gi"}])
def test_the_compatible_policy_knows_nothing_of_it(annotations: dict[str, str]) -> None:
    cluster = two_nodes(saying(a_class(), annotations), a_claim(gib=50))
    assert chosen(cluster, policy=Policy.COMPATIBLE) == LARGE
    pod = saying(a_pod(claims=["data"]), {PLACEMENT: "pack"})
    assert chosen(cluster, pod, policy=Policy.COMPATIBLE) == LARGE


def test_a_pod_has_the_last_word_and_others_with_the_same_request_keep_theirs() -> None:
    class_ = saying(a_class(), {PLACEMENT: "spread"})
    kernel = Kernel(Columns.of(two_nodes(class_, a_claim("a"), a_claim("b"), a_claim("c"))))
    packed = saying(a_pod("b", claims=["b"]), {PLACEMENT: "pack"})
    found = [kernel.decide(pod) for pod in (a_pod("a", claims=["a"]), packed)]
    found.append(kernel.decide(a_pod("c", claims=["c"])))
    assert [each.node for each in found if isinstance(each, Placement)] == [LARGE, SMALL, LARGE]


def test_a_change_of_the_class_counts_at_once() -> None:
    columns = Columns.of(two_nodes(a_class(), a_claim()))
    kernel, pod = Kernel(columns), a_pod(claims=["data"])
    for said, node in (("pack", SMALL), ("spread", LARGE), ("pack", SMALL)):
        columns.put(saying(a_class(), {PLACEMENT: said}))
        found = kernel.decide(pod)
        assert isinstance(found, Placement)
        assert found.node == node


def test_the_weight_decides_against_other_scores() -> None:
    # The large node is busier: that counts for more than the capacity, until it is weighed.
    busy = a_pod("busy", requests={"cpu": "7", "memory": "20Gi"}, node=LARGE)
    for weight, node in (("1", SMALL), ("10", LARGE)):
        class_ = saying(a_class(), {PLACEMENT: "spread", PLACEMENT_WEIGHT: weight})
        assert chosen(two_nodes(class_, a_claim(), busy, small=500)) == node


def test_the_weight_of_the_plugin_in_the_profile_multiplies_it() -> None:
    class_ = saying(a_class(), {PLACEMENT: "spread", PLACEMENT_WEIGHT: "2"})
    columns = Columns.of(two_nodes(class_, a_claim()))
    for weight in (0, 1, 3):
        profile = Profile(weights={SchedulerPlugin.VOLUME_BINDING: weight})
        judged = Judge(columns, KernelSettings(profile=profile)).judge(a_pod(claims=["data"]))
        assert isinstance(judged, Judged)
        slots = [columns.index.names.index(name) for name in (SMALL, LARGE)]
        totals = [weight * 2 * 9, weight * 2 * 100]
        assert [judged.total_of(slot) for slot in slots] == totals
        assert judged.totals()[slots].tolist() == totals


def test_headroom_weighs_more_than_all_scores_and_refuses_no_pod() -> None:
    busy = a_pod("busy", requests={"cpu": "7", "memory": "30Gi"}, node=LARGE)
    class_ = saying(a_class(), {PLACEMENT: "pack", PLACEMENT_WEIGHT: "10", HEADROOM: "100Gi"})
    assert chosen(two_nodes(class_, a_claim(), busy)) == LARGE
    assert chosen(two_nodes(class_, a_claim(gib=99), small=100, large=90)) == SMALL


def test_static_matches_come_first_unless_the_class_says_otherwise() -> None:
    volume = a_volume("here", gib=1, reachable_from=on_host(SMALL))
    for said, node in ({}, SMALL), ({STATIC_VOLUMES: "score"}, LARGE):
        class_ = saying(a_class(), {PLACEMENT: "spread"} | said)
        assert chosen(two_nodes(class_, a_claim(), volume)) == node


def test_a_volume_that_exists_takes_nothing_of_the_headroom() -> None:
    volume = a_volume("here", gib=1, reachable_from=on_host(SMALL))
    class_ = saying(a_class(), {PLACEMENT: "pack", HEADROOM: "100Gi", STATIC_VOLUMES: "score"})
    assert chosen(two_nodes(class_, a_claim(), volume)) == SMALL


# The same for one node


class AtNode(NamedTuple):
    """A claim, what it gets on a node, and what is published there; negative: nothing."""

    class_name: str
    size: int
    matched: int
    capacity: int


def plain_left(claims: Sequence[AtNode]) -> tuple[int, int, int]:
    """Capacity, bytes of new volumes, and what is left."""
    taken = sum(each.size for each in claims if each.matched < 0)
    known = [each.capacity for each in claims if each.capacity >= 0]
    capacity = known[-1] if known else -1
    return capacity, taken, max(capacity - taken, 0) if known else -1


def plain_shaped(claims: Sequence[AtNode]) -> int:
    static = [each for each in claims if each.matched >= 0]
    if static:
        usage = Usage(sum(each.size for each in static), sum(each.matched for each in static))
        return score_usage({"": usage})
    capacity, _, _ = plain_left(claims)
    tracked = sum(each.size for each in claims if each.capacity >= 0)
    return score_usage({"": Usage(tracked, capacity)}) if capacity >= 0 else 0


def plain_class_score(preference: PlacementPreference, nodes: Sequence[Sequence[AtNode]]) -> int:
    """Of the first of the nodes, beside the others that will do."""
    if preference.direction is None:
        return plain_shaped(nodes[0])
    left = [plain_left(claims)[2] for claims in nodes]
    if left[0] < 0:
        return 0
    percent = 100 * left[0] // max(1, *left)
    return percent if preference.direction is PlacementDirection.SPREAD else 100 - percent


def plain_score(
    preferences: Mapping[str, PlacementPreference], nodes: Sequence[Sequence[AtNode]]
) -> int:
    total = 0
    for name, preference in preferences.items():
        own = [[each for each in claims if each.class_name == name] for claims in nodes]
        total += preference.weight * plain_class_score(preference, own)
    return (2 * total + len(preferences)) // (2 * len(preferences))


def plain_key(preferences: Mapping[str, PlacementPreference], claims: Sequence[AtNode]) -> int:
    statics, is_short = 0, False
    for name, preference in preferences.items():
        own = [each for each in claims if each.class_name == name]
        if preference.static_volumes is StaticPreference.PREFER:
            statics += sum(each.matched >= 0 for each in own)
        capacity, taken, left = plain_left(own)
        if preference.headroom is not None and taken and capacity >= 0:
            kept = preference.headroom
            is_short |= left < max(capacity // 100 * kept.percent, kept.fixed_bytes)
    return (statics << STATIC_BITS) - (is_short << HEADROOM_BITS)


NODES = 4
HEADROOMS = st.none() | st.builds(Headroom, st.integers(0, 500), st.integers(0, 100))
PREFERENCES = st.builds(
    PlacementPreference,
    direction=st.none() | st.sampled_from(PlacementDirection),
    weight=st.integers(0, 10),
    headroom=HEADROOMS,
    static_volumes=st.sampled_from(StaticPreference),
)
BY_NODE = st.none() | st.lists(st.integers(-1, 2000), min_size=NODES, max_size=NODES)
CLAIMS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 900), BY_NODE, BY_NODE),
    min_size=1,
    max_size=4,
)


@given(
    claims=CLAIMS,
    preference=PREFERENCES,
    other=PREFERENCES,
    feasible=st.lists(st.booleans(), min_size=NODES, max_size=NODES),
)
@settings(max_examples=300)
def test_all_nodes_at_once_are_scored_like_each_by_itself(
    claims: list[tuple[str, int, list[int] | None, list[int] | None]],
    preference: PlacementPreference,
    other: PlacementPreference,
    feasible: list[bool],
) -> None:
    columns = PlacementColumns(Columns(), UsageColumns(DEFAULT_SHAPE))
    preferences = {"a": preference, "b": other}
    placed = [
        PlacedClaim(name, size, *(None if row is None else np.array(row) for row in rows))
        for name, size, *rows in claims
    ]
    fit, keys = columns.fit(placed, preferences, NODES)
    scores = fit.weighted(np.array(feasible))

    nodes = [
        [
            AtNode(name, size, *(row[at] if row else -1 for row in rows))
            for name, size, *rows in claims
        ]
        for at in range(NODES)
    ]
    others = [nodes[at] for at in range(NODES) if feasible[at]]
    for at in range(NODES):
        assert keys[at] == plain_key(preferences, nodes[at])
        if feasible[at]:
            assert scores[at] == plain_score(preferences, [nodes[at], *others])


# Whole clusters


def some_annotations(chance: Chance) -> dict[str, str]:
    said = {
        PLACEMENT: chance.choice(["spread", "pack", "?"]),
        PLACEMENT_WEIGHT: chance.choice(["0", "2", "10", "x"]),
        HEADROOM: chance.choice(["10%", "1Gi", "100%", "-"]),
        STATIC_VOLUMES: chance.choice(["prefer", "score", "no"]),
    }
    return {name: text for name, text in said.items() if chance.happens(50)}


def annotated(chance: Chance, object_: ApiObject) -> ApiObject:
    if not isinstance(object_, StorageClass):
        return object_
    return saying(object_, {**object_.annotations, **some_annotations(chance)})


def published(claim: PersistentVolumeClaim, labels: Mapping[str, str], view: Cluster) -> int:
    """What the plain rule would take a new volume for the claim from; negative: unknown."""
    class_ = view.storage_class(claim.storage_class)
    driver = view.csi_driver(class_.provisioner) if class_ else None
    sized = "storage" in claim.spec.resources.requests
    if class_ is None or driver is None or not driver.spec.storage_capacity or not sized:
        return -1
    near = [each for each in view.capacities_of_class(class_.name) if is_in_segment(labels, each)]
    if len(near) > 1:
        wanted = max(size_of(claim.spec.resources.requests).value, 0)
        near = [each for each in near if (most := largest_volume(each)) and most.value >= wanted]
    text = near[0].capacity if near else None
    return -1 if text is None else parse_quantity(text).value


def at_node(judged: Judged, volumes: PodVolumes, node: Node, view: Cluster) -> list[AtNode]:
    assert judged.volumes.delayed_claims is not None
    found, static = [], list(volumes.static)
    for delayed in judged.volumes.delayed_claims.all:
        claim = delayed.claim
        own = next((each for each in static if each.claim.key == claim.key), None)
        if own is not None:
            static.remove(own)
        matched = -1 if own is None else size_of(own.volume.spec.capacity).value
        size = size_of(claim.spec.resources.requests).value
        found.append(
            AtNode(claim.storage_class, size, matched, published(claim, node.labels, view))
        )
    return found


def plain_preferences(
    pod: Pod, claims: Sequence[AtNode], view: Cluster
) -> dict[str, PlacementPreference]:
    override = find_override(pod.annotations)
    found = {}
    for name in dict.fromkeys(each.class_name for each in claims):
        class_ = view.storage_class(name)
        own = (find_class_preference(class_.annotations) if class_ else None) or NO_PREFERENCE
        found[name] = override.over(own) if override else own
    return found


@given(seed=seeds)
@settings(max_examples=150, deadline=None)
def test_nodes_are_scored_by_what_the_plain_rules_would_bind_there(seed: int) -> None:
    chance = Chance(seed)
    objects = [annotated(chance, each) for each in a_random_cluster(chance)]
    pod = a_new_pod(chance, objects)
    if chance.happens(30):
        pod = saying(pod, some_annotations(chance))
    view, columns = plain.cluster_of(objects), Columns.of(objects)
    judge = Judge(columns, KernelSettings(Policy.DEFAULT))
    judged = judge.judge(pod)
    if isinstance(judged, Rejected) or judged.delayed is None or judged.delayed.placement is None:
        return
    assert judged.volumes.delayed_claims is not None
    nodes: dict[int, list[AtNode]] = {}
    for slot in np.flatnonzero(judged.is_feasible).tolist():
        node = view.nodes[columns.index.names[slot]]
        volumes = plain.volumes_for(pod, node, view)
        if not isinstance(volumes, PodVolumes):
            volumes = judge.volume_binding.bind(judged.volumes.delayed_claims, slot)
        nodes[slot] = at_node(judged, volumes, node, view)
    scores = judged.delayed.placement.weighted(judged.is_feasible)
    for slot, claims in nodes.items():
        preferences = plain_preferences(pod, claims, view)
        assert judged.delayed.scores[slot] == 0
        assert judged.delayed.keys[slot] == plain_key(preferences, claims)
        assert scores[slot] == plain_score(preferences, [claims, *nodes.values()])


@given(seed=seeds)
@settings(max_examples=80, deadline=None)
def test_what_is_remembered_between_pods_changes_no_decision(seed: int) -> None:
    chance = Chance(seed)
    objects = [annotated(chance, each) for each in a_random_cluster(chance)]
    columns = Columns.of(objects)
    kept = Judge(columns)
    for _ in range(8):
        pod = a_new_pod(chance, objects)
        pod = saying(pod, some_annotations(chance)) if chance.happens(50) else pod
        found, fresh = kept.judge(pod), Judge(columns.fork()).judge(pod)
        if isinstance(found, Rejected) or isinstance(fresh, Rejected):
            assert found == fresh
        else:
            assert found.keys().tolist() == fresh.keys().tolist()
        columns.put(annotated(chance, an_object(chance)))
