from typing import Any

import pytest

from plimsoll.decide.ceph.crush_copies import copies_inside, parse_tree

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
            {"id": 0, "type": "osd", "name": "osd.0", "status": "up"},
            {"id": 3, "type": "osd", "name": "osd.3", "status": "down"},
            {"id": 1, "type": "osd", "name": "osd.1", "status": "down"},
            {"id": 2, "type": "osd", "name": "osd.2", "status": "up"},
        ]
    }
)
A, B = -2, -3


def take(item: int) -> dict[str, Any]:
    return {"op": "take", "item": item}


def choose(number: int, type_: str) -> dict[str, Any]:
    return {"op": "chooseleaf_firstn", "num": number, "type": type_}


EMIT = {"op": "emit"}


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
