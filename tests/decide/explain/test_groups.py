"""Thousands of nodes stay readable."""

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.explain.groups import NodeTrouble, Unit, grouped, unit_of
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.reasons import Finding, Reason, Rule, SeenObject, Sentence


def too_small(seen: int, capacity: str) -> NodeTrouble:
    finding = Finding(
        reason=Reason.CAPACITY_TOO_SMALL,
        sentence=Sentence.NO_SPACE,
        claim=ObjectKey("default", "data"),
        about=SeenObject("CSIStorageCapacity", ObjectKey("csi", capacity)),
        wanted=10,
        seen=seen,
    )
    return NodeTrouble(rule=Rule.VOLUME_BINDING, finding=finding)


def short_of(resource: str) -> NodeTrouble:
    sentence = f"Insufficient {resource}"
    finding = Finding(reason=Reason.INSUFFICIENT_RESOURCE, sentence=sentence, wanted=2, seen=1)
    return NodeTrouble(rule=NodeRule.RESOURCES, finding=finding)


def test_nodes_with_the_same_troubles_are_one_group_with_the_range_of_what_was_seen() -> None:
    (group,) = grouped({"b": [too_small(3, "b")], "a": [too_small(7, "a")]})
    assert group.nodes == ("a", "b")
    (trouble,) = group.troubles
    assert (trouble.wanted, trouble.least, trouble.most) == (10, 3, 7)
    assert trouble.about == SeenObject("CSIStorageCapacity", ObjectKey("csi", "a"))


def test_the_group_with_the_fewest_troubles_comes_first_and_then_the_largest() -> None:
    groups = grouped(
        {
            "a": [short_of("cpu"), too_small(1, "a")],
            "b": [short_of("cpu")],
            "c": [short_of("memory")],
            "d": [short_of("memory")],
        }
    )
    assert [group.nodes for group in groups] == [("c", "d"), ("b",), ("a",)]


def test_numbers_have_units() -> None:
    units = {name: unit_of(short_of(name).finding) for name in ("cpu", "memory", "example.com/gpu")}
    assert units == {"cpu": Unit.MILLI_CPU, "memory": Unit.BYTES, "example.com/gpu": Unit.COUNT}
    assert unit_of(too_small(1, "a").finding) is Unit.BYTES
