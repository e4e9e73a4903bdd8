"""Numbers as people write them."""

import pytest

from plimsoll.decide.explain.amounts import amount
from plimsoll.decide.explain.groups import Unit

GIB = 2**30


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (0, Unit.BYTES, "0"),
        (GIB, Unit.BYTES, "1Gi"),
        (3 * GIB // 2, Unit.BYTES, "1.5Gi"),
        (2 * GIB - 1, Unit.BYTES, "1.9Gi"),
        (-GIB, Unit.BYTES, "-1Gi"),
        (1500, Unit.MILLI_CPU, "1500m"),
        (2000, Unit.MILLI_CPU, "2"),
        (7, Unit.COUNT, "7"),
    ],
)
def test_a_number_is_shown_in_its_unit_rounded_down(number: int, unit: Unit, text: str) -> None:
    assert amount(number, unit) == text
