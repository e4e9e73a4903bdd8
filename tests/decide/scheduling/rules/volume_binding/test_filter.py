from collections.abc import Iterable

import msgspec
from hypothesis import given, strategies as st

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.reasons import Judgement, Reason, Sentence, Verdict
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims
from plimsoll.decide.scheduling.rules.volume_binding.filter import every_finding, judge
from plimsoll.decide.scheduling.rules.volume_binding.score import score
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes
from tests.builders import HOSTNAME, a_capacity, a_claim, a_class, a_driver, a_node, a_volume
from tests.decide.scheduling.builders import (
    GIB,
    a_cluster,
    a_local_class,
    annotated,
    bound,
    on_host,
)


def volumes_on(
    node: Node, objects: Iterable[ApiObject], *delayed: PersistentVolumeClaim
) -> PodVolumes | Judgement:
    return judge(PodClaims((), delayed), node, a_cluster(*objects))


def pairs(result: PodVolumes | Judgement) -> dict[str, str]:
    assert isinstance(result, PodVolumes)
    return {binding.claim.name: binding.volume.name for binding in result.static}


def reasons(result: PodVolumes | Judgement) -> list[Reason]:
    assert isinstance(result, Judgement)
    return [finding.reason for finding in result.findings]


def test_each_claim_takes_the_smallest_volume_that_the_node_can_reach() -> None:
    objects = (
        a_local_class(),
        a_volume("far", gib=1, reachable_from=on_host("node-2")),
        a_volume("large", gib=9),
        a_volume("small", gib=2),
    )
    result = volumes_on(a_node(), objects, a_claim("big", gib=3), a_claim("little", gib=1))
    assert pairs(result) == {"little": "small", "big": "large"}


def test_a_claim_that_took_the_wrong_volume_is_not_tried_again() -> None:
    picky = msgspec.structs.replace(
        a_claim("picky", gib=2).spec, selector=LabelSelectorSpec(match_labels={"tier": "gold"})
    )
    gold = msgspec.structs.replace(
        a_volume("gold", gib=2),
        metadata=msgspec.structs.replace(a_volume("gold").metadata, labels={"tier": "gold"}),
    )
    objects = (a_local_class(), gold, a_volume("plain", gib=3))
    result = volumes_on(
        a_node(),
        objects,
        a_claim("any", gib=1),
        msgspec.structs.replace(a_claim("picky", gib=2), spec=picky),
    )
    assert reasons(result) == [Reason.NO_MATCHING_VOLUME]


def test_what_does_not_exist_is_provisioned() -> None:
    capacity = a_capacity(segment=on_host("node-1"), gib=10)
    objects = (a_class(), a_driver(), capacity, a_volume("ready", gib=1))
    result = volumes_on(a_node(), objects, a_claim("new", gib=5), a_claim("old", gib=1))
    assert pairs(result) == {"old": "ready"}
    assert isinstance(result, PodVolumes)
    assert [(made.claim.name, made.capacity) for made in result.provisions] == [("new", capacity)]


def test_a_claim_that_names_a_node_is_provisioned_for_there_and_nowhere_else() -> None:
    claim = annotated(a_claim(), {SELECTED_NODE: "node-1"})
    objects = (a_class(), a_volume())
    here = volumes_on(a_node("node-1"), objects, claim)
    assert isinstance(here, PodVolumes)
    assert (here.static, len(here.provisions)) == ((), 1)
    there = volumes_on(a_node("node-2"), objects, claim)
    assert reasons(there) == [Reason.SELECTED_ELSEWHERE]


def test_bound_and_delay_bound_claims_are_both_heard() -> None:
    claims = PodClaims((bound(a_claim("done"), "far"),), (a_claim("late"),))
    cluster = a_cluster(a_local_class(), a_volume("far", reachable_from=on_host("node-2")))
    judgement = judge(claims, a_node("node-1"), cluster)
    assert isinstance(judgement, Judgement)
    assert judgement.verdict is Verdict.UNRESOLVABLE
    assert judgement.sentences == (Sentence.VOLUME_AFFINITY, Sentence.NO_VOLUME)


def test_a_volume_that_is_gone_is_named() -> None:
    claims = PodClaims((bound(a_claim("done"), "gone"),), ())
    judgement = judge(claims, a_node(), a_cluster())
    assert reasons(judgement) == [Reason.VOLUME_NOT_FOUND]
    assert isinstance(judgement, Judgement)
    assert judgement.sentences == (Sentence.VOLUME_MISSING,)


def test_a_selector_that_cannot_be_read_decides_nothing() -> None:
    expression = LabelRequirementSpec(key="tier", operator="Near", values=("gold",))
    spec = msgspec.structs.replace(
        a_claim().spec, selector=LabelSelectorSpec(match_expressions=(expression,))
    )
    result = volumes_on(a_node(), [a_class()], msgspec.structs.replace(a_claim(), spec=spec))
    assert isinstance(result, Judgement)
    assert result.verdict is Verdict.ERROR


def test_the_node_with_the_tighter_volume_scores_lower() -> None:
    claim = a_claim(gib=1)
    tight = volumes_on(a_node(), (a_local_class(), a_volume(gib=1)), claim)
    loose = volumes_on(a_node(), (a_local_class(), a_volume(gib=4)), claim)
    assert isinstance(tight, PodVolumes)
    assert isinstance(loose, PodVolumes)
    assert (score(tight), score(loose)) == (0, 75)


def test_an_explanation_tells_of_every_claim_and_the_nearest_volume() -> None:
    claims = PodClaims(
        (bound(a_claim("one"), "gone"), bound(a_claim("two"), "lost")),
        (a_claim("small", gib=1), a_claim("large", gib=9)),
    )
    cluster = a_cluster(a_local_class(), a_volume("half", gib=4), a_volume("tiny", gib=1))
    findings = every_finding(claims, a_node(), cluster)
    assert [(f.reason, f.claim) for f in findings] == [
        (Reason.VOLUME_NOT_FOUND, ObjectKey("default", "one")),
        (Reason.VOLUME_NOT_FOUND, ObjectKey("default", "two")),
        (Reason.NO_MATCHING_VOLUME, ObjectKey("default", "large")),
    ]
    assert (findings[-1].wanted, findings[-1].seen) == (9 * GIB, 4 * GIB)


sizes = st.integers(1, 4)
hosts = st.sampled_from(["node-1", "node-2"])
volumes = st.lists(st.tuples(sizes, hosts), max_size=4)
selected = st.sampled_from([None, "node-1", "node-2"])
delayed_claims = st.lists(
    st.tuples(sizes, st.sampled_from(["local", "made"]), selected), max_size=3
)
bound_to = st.lists(st.sampled_from(["volume-0", "volume-1", "gone"]), max_size=2)


@given(volumes, delayed_claims, bound_to, st.integers(0, 4))
def test_an_explanation_is_empty_exactly_where_the_pod_fits(
    existing: list[tuple[int, str]],
    wanted: list[tuple[int, str, str | None]],
    taken: list[str],
    room: int,
) -> None:
    delayed = [
        annotated(a_claim(f"late-{i}", gib=gib, class_name=class_name), {SELECTED_NODE: node})
        if node
        else a_claim(f"late-{i}", gib=gib, class_name=class_name)
        for i, (gib, class_name, node) in enumerate(wanted)
    ]
    claims = PodClaims(
        tuple(bound(a_claim(f"bound-{i}"), name) for i, name in enumerate(taken)), tuple(delayed)
    )
    cluster = a_cluster(
        a_local_class("local"),
        a_class("made"),
        a_driver(),
        a_capacity(segment={HOSTNAME: "node-1"}, gib=room, class_name="made"),
        *(
            a_volume(f"volume-{i}", gib=gib, class_name="local", reachable_from=on_host(host))
            for i, (gib, host) in enumerate(existing)
        ),
    )
    for node in (a_node("node-1"), a_node("node-2")):
        result = judge(claims, node, cluster)
        findings = every_finding(claims, node, cluster)
        assert isinstance(result, PodVolumes) is (not findings)
        if isinstance(result, Judgement):
            assert set(result.sentences) <= {finding.sentence for finding in findings}
        else:
            used = [binding.volume.name for binding in result.static]
            assert len(used) == len(set(used))
            assert len(used) + len(result.provisions) == len(delayed)
