import pytest

from plimsoll.api.storage import CSINode, CSINodeDriver, CSINodeSpec, VolumeLimit
from plimsoll.decide.scheduling.columns.attachables import Attachable
from plimsoll.decide.scheduling.columns.attachments import TIGHT, AttachColumns
from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from tests.builders import meta

D = "d.example.com"
ONE, TWO, OTHER = Attachable(D, "1"), Attachable(D, "2"), Attachable("other", "1")


def a_limit(node: str, count: int) -> CSINode:
    driver = CSINodeDriver(name=D, allocatable=VolumeLimit(count=count))
    return CSINode(metadata=meta(node), spec=CSINodeSpec(drivers=(driver,)))


def columns_with(limits: dict[str, int]) -> AttachColumns:
    index = NodeIndex()
    attach = AttachColumns(index)
    for name, count in limits.items():
        attach.add_node(name, index.add(name))
        attach.put_csi_node(a_limit(name, count))
    return attach


def full(attach: AttachColumns, *new: Attachable) -> list[bool]:
    exceeding = attach.exceeding_limits(frozenset(new))
    return [False, False] if exceeding is None else [bool(is_full) for is_full in exceeding[:2]]


def test_a_node_is_full_when_its_limit_is_reached() -> None:
    attach = columns_with({"a": 1, "b": 2})

    assert full(attach, ONE) == [False, False]
    assert full(attach, ONE, TWO) == [True, False]
    attach.count_pod("b", {OTHER, ONE}, 1)
    assert full(attach, TWO, Attachable(D, "3")) == [True, True]
    attach.count_pod("b", {OTHER, ONE}, -1)
    assert full(attach, TWO, Attachable(D, "3")) == [True, False]


@pytest.mark.parametrize("left", [0, 1, TIGHT - 1, TIGHT, TIGHT + 1, 2 * TIGHT])
def test_pods_fit_as_long_as_so_many_volumes_are_left(left: int) -> None:
    attach = columns_with({"a": 3 * TIGHT, "b": 9 * TIGHT})
    attach.count_pod("a", {Attachable(D, f"there-{n}") for n in range(3 * TIGHT - left)}, 1)

    wanted = [Attachable(D, f"new-{n}") for n in range(left + 1)]
    assert full(attach, *wanted[:left]) == [False, False]
    assert full(attach, *wanted) == [True, False]
    attach.count_pod("a", {Attachable(D, "there-0")}, -1)
    assert full(attach, *wanted) == [False, False]


def test_a_volume_that_a_pod_of_the_node_uses_costs_nothing_more() -> None:
    attach = columns_with({"a": 1, "b": 1})
    attach.count_pod("a", {ONE}, 1)

    assert full(attach, ONE) == [False, False]
    assert full(attach, TWO) == [True, False]


def test_a_volume_that_is_only_attached_may_be_on_its_way_out() -> None:
    attach = columns_with({"a": 1, "b": 1})
    attach.count_attachment("a", ONE, 1)

    assert full(attach, ONE) == [True, False]
    attach.count_pod("a", {ONE}, 1)
    assert full(attach, ONE) == [False, False]


def test_what_is_on_a_node_waits_for_the_node_and_for_its_limit() -> None:
    index = NodeIndex()
    attach = AttachColumns(index)
    attach.count_pod("a", {ONE}, 1)
    attach.put_csi_node(a_limit("a", 1))
    attach.add_node("a", index.add("a"))

    assert full(attach, TWO)[0]
    attach.remove_csi_node("a")
    assert not full(attach, TWO)[0]
    assert (attach.present, attach.limited, attach.installed) == (0, 0, {})


def test_forks_count_on_their_own() -> None:
    attach = columns_with({"a": 1, "b": 1})
    attach.count_pod("a", {ONE}, 1)
    index = NodeIndex()
    for name in ("a", "b"):
        index.add(name)
    fork = attach.fork(index)

    fork.count_pod("b", {ONE}, 1)
    attach.count_pod("a", {ONE}, -1)

    assert full(attach, TWO) == [False, False]
    assert full(fork, TWO) == [True, True]
