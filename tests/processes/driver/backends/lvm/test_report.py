import json
from collections.abc import Mapping

import pytest

from plimsoll.processes.driver.backends.lvm.report import FIELDS, Span, parse_group

Rows = list[dict[str, str]]

GROUP = {
    "vg_name": "data",
    "vg_extent_size": "4194304",
    "vg_permissions": "writeable",
    "vg_exported": "",
    "vg_missing_pv_count": "0",
    "max_lv": "0",
    "lv_count": "1",
}


def a_device(uuid: str, **changes: str) -> dict[str, str]:
    usual = {"pv_pe_count": "10", "pv_allocatable": "allocatable", "pv_missing": ""}
    return {"pv_uuid": uuid, "pv_name": f"/dev/{uuid}", **usual, **changes}


def a_volume(name: str, **changes: str) -> dict[str, str]:
    return {
        "lv_uuid": f"uuid-{name}",
        "lv_name": name,
        "lv_parent": "",
        "lv_path": f"/dev/data/{name}",
        "lv_size": "8388608",
        "lv_tags": "",
        "lv_active": "",
        "lv_device_open": "",
        "lv_health_status": "",
        **changes,
    }


def a_segment(device: str, volume: str, start: int, size: int) -> dict[str, str]:
    return {
        "pv_uuid": device,
        "lv_uuid": f"uuid-{volume}" if volume else "",
        "pvseg_start": str(start),
        "pvseg_size": str(size),
    }


def a_report(
    *, group: Mapping[str, str] = GROUP, pv: Rows, lv: Rows | None = None, pvseg: Rows | None = None
) -> str:
    parts = {"vg": [dict(group)], "pv": pv, "lv": lv or [], "pvseg": pvseg or [], "seg": []}
    return json.dumps({"report": [parts]})


def test_free_extents_are_those_of_no_volume() -> None:
    segments = [a_segment("a", "x", 0, 2), a_segment("a", "", 2, 5), a_segment("a", "", 8, 2)]
    text = a_report(pv=[a_device("a")], lv=[a_volume("x")], pvseg=segments)
    (device,) = parse_group(text, "data").physical_volumes
    assert device.free == (Span(2, 5), Span(8, 2))
    assert device.free_count == 7


@pytest.mark.parametrize("change", [{"pv_missing": "missing"}, {"pv_allocatable": ""}])
def test_a_device_that_lvm_does_not_allocate_from_has_no_room(change: dict[str, str]) -> None:
    text = a_report(pv=[a_device("a", **change)], pvseg=[a_segment("a", "", 0, 10)])
    assert parse_group(text, "data").physical_volumes[0].free_count == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vg_exported": "exported"}, "exported"),
        ({"vg_permissions": "read-only"}, "read-only"),
        ({"vg_missing_pv_count": "1"}, "1 of its physical volumes"),
        ({"max_lv": "1"}, "no more than 1"),
    ],
)
def test_a_group_that_cannot_be_changed_says_why(change: dict[str, str], words: str) -> None:
    text = a_report(group={**GROUP, **change}, pv=[a_device("a")])
    assert words in parse_group(text, "data").obstacle


def test_parts_of_a_mirror_count_as_held_by_it() -> None:
    volumes = [
        a_volume("x"),
        a_volume("[x_rimage_0]", lv_uuid="uuid-i0", lv_parent="x"),
        a_volume("[x_rmeta_0]", lv_uuid="uuid-m0", lv_parent="x"),
        a_volume("[x_rimage_1]", lv_uuid="uuid-i1", lv_parent="x"),
        a_volume("[x_rmeta_1]", lv_uuid="uuid-m1", lv_parent="x"),
    ]
    segments = [
        a_segment("a", "m0", 0, 1),
        a_segment("a", "i0", 1, 2),
        a_segment("b", "m1", 0, 1),
        a_segment("b", "i1", 1, 2),
    ]
    text = a_report(pv=[a_device("a"), a_device("b")], lv=volumes, pvseg=segments)
    group = parse_group(text, "data")
    assert set(group.volumes) == {"x"}
    assert group.volumes["x"].held == {"a": 3, "b": 3}


def test_tags_and_states_are_read() -> None:
    row = a_volume("x", lv_tags="one,two", lv_active="active", lv_device_open="open")
    found = parse_group(a_report(pv=[a_device("a")], lv=[row]), "data").volumes["x"]
    assert found.tags == {"one", "two"}
    assert found.is_active
    assert found.is_open


def test_states_that_lvm_does_not_know_are_not_taken_for_true() -> None:
    row = a_volume("x", lv_active="unknown", lv_device_open="unknown")
    found = parse_group(a_report(pv=[a_device("a")], lv=[row]), "data").volumes["x"]
    assert not found.is_active
    assert not found.is_open


@pytest.mark.parametrize(
    "text", ["", "no JSON", '{"report": []}', '{"report": [{"vg": []}]}', a_report(pv=[{}])]
)
def test_anything_but_a_report_on_the_group_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
        parse_group(text, "data")


def test_another_group_is_not_taken_for_ours() -> None:
    with pytest.raises(ValueError, match="other"):
        parse_group(a_report(pv=[a_device("a")]), "other")


def test_everything_that_is_read_is_asked_for() -> None:
    asked = {name for names in FIELDS.values() for name in names}
    assert {*GROUP, *a_device("a"), *a_volume("x"), *a_segment("a", "", 0, 1)} == asked
