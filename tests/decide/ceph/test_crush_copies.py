from typing import Any

import pytest

from plimsoll.decide.ceph.crush_copies import copies_inside, copies_up, parse_tree


def osd(number: int, status: str, device_class: str) -> dict[str, Any]:
    facts = {"type": "osd", "name": f"osd.{number}", "status": status}
    return {"id": number, "device_class": device_class, **facts}


TREE = parse_tree(
    {
        "nodes": [
            {"id": -1, "type": "root", "name": "default", "children": [-2, -3, -4]},
            *(
                {"id": -2 - at, "type": "zone", "name": f"zone-{name}", "children": [-5 - at]}
                for at, name in enumerate("abc")
            ),
            {"id": -5, "type": "host", "name": "host-a", "children": [0, 3]},
            {"id": -6, "type": "host", "name": "host-b", "children": [1]},
            {"id": -7, "type": "host", "name": "host-c", "children": [2]},
            osd(0, "up", "ssd"),
            osd(3, "down", "hdd"),
            osd(1, "down", "ssd"),
            osd(2, "up", "ssd"),
        ]
    }
)
A, B = -2, -3


def take(item: int, name: str = "") -> dict[str, Any]:
    return {"op": "take", "item": item, "item_name": name}


def choose(number: int, type_: str) -> dict[str, Any]:
    return {"op": "chooseleaf_firstn", "num": number, "type": type_}


EMIT = {"op": "emit"}
SSD, HDD, OF_A = take(-8, "default~ssd"), take(-9, "default~hdd"), take(-10, "zone-a~ssd")
TWO_IN_EACH = [take(-1), choose(2, "zone"), choose(2, "osd"), EMIT]


@pytest.mark.parametrize(
    ("steps", "size", "inside"),
    [
        pytest.param([take(A), choose(0, "osd"), EMIT], 1, 1, id="only-in-the-zone"),
        pytest.param([take(A), choose(0, "osd"), EMIT], 2, 2, id="twice-in-the-zone"),
        pytest.param([take(-1), choose(0, "zone"), EMIT], 3, 1, id="one-in-each-zone"),
        pytest.param([take(-1), choose(0, "osd"), EMIT], 3, 2, id="anywhere"),
        pytest.param(
            [take(A), choose(1, "osd"), EMIT, take(B), choose(1, "osd"), EMIT], 2, 1, id="primary"
        ),
        pytest.param(
            [take(A), choose(1, "osd"), EMIT, take(-1), choose(-1, "zone"), EMIT],
            3,
            2,
            id="primary-and-perhaps-another",
        ),
        pytest.param([take(B), choose(0, "osd"), EMIT], 1, 0, id="elsewhere"),
        pytest.param([take(-9), choose(0, "osd"), EMIT], 1, 0, id="a-bucket-that-is-gone"),
        pytest.param([SSD, choose(0, "zone"), EMIT], 3, 1, id="one-in-each-zone-of-a-class"),
        pytest.param([SSD, choose(0, "osd"), EMIT], 3, 1, id="anywhere-of-a-class"),
        pytest.param([OF_A, choose(0, "osd"), EMIT], 2, 1, id="in-the-zone-of-a-class"),
        pytest.param(TWO_IN_EACH, 4, 2, id="two-in-each-of-two-zones"),
        pytest.param([take(0, "osd.0"), EMIT, take(2, "osd.2"), EMIT], 2, 1, id="osds-by-name"),
        pytest.param(
            [take(B), choose(0, "osd"), EMIT, take(A), choose(0, "osd"), EMIT],
            3,
            2,
            id="where-the-first-zone-has-no-more",
        ),
    ],
)
def test_at_most_so_many_copies_are_in_a_zone(
    steps: list[dict[str, Any]], size: int, inside: int
) -> None:
    assert copies_inside(TREE, steps, size, A) == inside


def test_a_domain_is_found_by_its_type_and_name() -> None:
    assert TREE.find("zone", "zone-b") == B
    assert TREE.find("rack", "zone-b") is None


def test_a_domain_is_up_while_one_of_its_osds_is() -> None:
    assert TREE.is_up(A)
    assert not TREE.is_up(B)


@pytest.mark.parametrize(
    ("steps", "size", "up"),
    [
        pytest.param([take(-1), choose(0, "zone"), EMIT], 3, 2, id="one-in-each-zone"),
        pytest.param([take(B), choose(0, "osd"), EMIT], 1, 0, id="in-a-zone-that-is-down"),
        pytest.param([SSD, choose(0, "zone"), EMIT], 3, 2, id="of-a-class"),
        pytest.param([HDD, choose(0, "osd"), EMIT], 1, 0, id="of-a-class-that-is-down"),
        pytest.param(TWO_IN_EACH, 4, 2, id="two-in-each-of-two-zones"),
    ],
)
def test_at_most_so_many_copies_can_be_written_to(
    steps: list[dict[str, Any]], size: int, up: int
) -> None:
    assert copies_up(TREE, steps, size) == up
