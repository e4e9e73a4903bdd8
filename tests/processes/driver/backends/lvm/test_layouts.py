import pytest
from grpc import StatusCode

from plimsoll.processes.driver.backends.lvm.layouts import (
    LvmArrangement,
    LvmShape,
    layout_of,
    parse_shape,
)
from plimsoll.wire.csi.errors import CsiStatusError

MEBIBYTE = 1024**2


@pytest.mark.parametrize(
    ("parameters", "shape"),
    [
        ({}, LvmShape(arrangement=LvmArrangement.LINEAR)),
        ({"layout": "linear"}, LvmShape(arrangement=LvmArrangement.LINEAR)),
        ({"layout": "mirrored"}, LvmShape(arrangement=LvmArrangement.MIRRORED)),
        ({"layout": "striped"}, LvmShape(arrangement=LvmArrangement.STRIPED, stripes=3)),
        (
            {"layout": "striped", "stripes": "2"},
            LvmShape(arrangement=LvmArrangement.STRIPED, stripes=2),
        ),
        (
            {"layout": "striped", "stripes": "9"},
            LvmShape(arrangement=LvmArrangement.STRIPED, stripes=9),
        ),
    ],
)
def test_parameters_say_how_a_volume_lies(parameters: dict[str, str], shape: LvmShape) -> None:
    assert parse_shape(parameters, devices=3) == shape


@pytest.mark.parametrize(
    "parameters",
    [
        {"layout": "raid5"},
        {"Layout": "linear"},
        {"layout": "striped", "stripes": "0"},
        {"layout": "striped", "stripes": "-2"},
        {"layout": "striped", "stripes": "two"},
        {"layout": "striped", "stripes": "²"},
        {"layout": "striped", "stripes": "129"},
        {"layout": "linear", "stripes": "2"},
        {"stripes": "2"},
        {"thin": "true"},
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(CsiStatusError) as refusal:
        parse_shape(parameters, devices=3)
    assert refusal.value.code is StatusCode.INVALID_ARGUMENT


def test_a_striped_volume_has_whole_rows_of_stripes() -> None:
    striped = LvmShape(arrangement=LvmArrangement.STRIPED, stripes=3)
    layout = layout_of(striped, extent_bytes=4 * MEBIBYTE)
    assert (layout.shares, layout.unit_bytes) == (3, 12 * MEBIBYTE)


def test_a_mirrored_volume_costs_twice_its_size_and_two_extents() -> None:
    layout = layout_of(LvmShape(arrangement=LvmArrangement.MIRRORED), extent_bytes=4 * MEBIBYTE)
    assert (layout.copies, layout.shares, layout.overhead_bytes) == (2, 2, 8 * MEBIBYTE)
    assert layout.unit_bytes == 4 * MEBIBYTE
