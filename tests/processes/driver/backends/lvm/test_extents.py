import pytest
from hypothesis import given, strategies as st

from plimsoll.processes.driver.backends.lvm.extents import (
    OutOfExtentsError,
    chosen_ranges,
    outstanding,
)
from plimsoll.processes.driver.backends.lvm.report import PhysicalVolume, ReportedGroup, Span


def a_device(uuid: str, *free: tuple[int, int]) -> PhysicalVolume:
    spans = tuple(Span(start, count) for start, count in free)
    return PhysicalVolume(
        uuid=uuid, device=f"/dev/{uuid}", extent_count=100, is_usable=True, free=spans
    )


def a_group(*devices: PhysicalVolume) -> ReportedGroup:
    return ReportedGroup(
        name="data", extent_bytes=4, obstacle="", physical_volumes=devices, volumes={}
    )


def test_the_smallest_hole_that_is_large_enough_is_taken() -> None:
    group = a_group(a_device("a", (0, 10), (20, 3), (40, 5)))
    assert chosen_ranges(group, {"a": 3}) == ("/dev/a:20-22",)
    assert chosen_ranges(group, {"a": 4}) == ("/dev/a:40-43",)


def test_what_fits_in_no_hole_is_cut_into_few_pieces() -> None:
    group = a_group(a_device("a", (0, 2), (5, 4), (20, 3)))
    assert chosen_ranges(group, {"a": 6}) == ("/dev/a:5-8:20-21",)


def test_every_device_gives_what_was_promised() -> None:
    group = a_group(a_device("a", (0, 9)), a_device("b", (7, 9)))
    assert chosen_ranges(group, {"b": 2, "a": 1}) == ("/dev/a:0-0", "/dev/b:7-8")


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(OutOfExtentsError, match="2 free extents where 3"):
        chosen_ranges(a_group(a_device("a", (0, 2))), {"a": 3})


def test_a_device_that_has_left_the_group_is_refused() -> None:
    with pytest.raises(OutOfExtentsError, match="no physical volume b"):
        chosen_ranges(a_group(a_device("a", (0, 2))), {"b": 1})


HOLES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 6)), max_size=6)
"""The distance to the hole before, and the size."""


@given(HOLES, st.integers(0, 40))
def test_exactly_the_wanted_number_of_free_extents_is_chosen(
    holes: list[tuple[int, int]], wanted: int
) -> None:
    free, position = [], 0
    for gap, size in holes:
        free.append((position + gap, size))
        position += gap + size
    available = {extent for start, size in free for extent in range(start, start + size)}
    group = a_group(a_device("a", *free))
    if wanted > len(available):
        with pytest.raises(OutOfExtentsError):
            chosen_ranges(group, {"a": wanted})
        return
    chosen = [
        extent
        for written in chosen_ranges(group, {"a": wanted})
        for piece in written.split(":")[1:]
        for extent in range(int(piece.split("-")[0]), int(piece.split("-")[1]) + 1)
    ]
    assert len(chosen) == len(set(chosen)) == wanted
    assert set(chosen) <= available


def test_what_is_promised_and_not_made_is_outstanding() -> None:
    assert outstanding({"a": 12, "b": 4}, [{"a": 1}], extent_bytes=4) == {"a": 8, "b": 4}


def test_a_volume_that_an_administrator_moved_is_not_charged_twice() -> None:
    assert outstanding({"a": 12}, [{"b": 3}], extent_bytes=4) == {"a": 0}
