from typing import Any

import pytest

from plimsoll.apiserver.model import scalars
from plimsoll.apiserver.model.scalars import Convert, SchemaError

GOOD = [
    (scalars.string, "", ""),
    (scalars.boolean, False, False),
    (scalars.int32, 2**31 - 1, 2**31 - 1),
    (scalars.int32, -(2**31), -(2**31)),
    (scalars.int64, 2**63 - 1, 2**63 - 1),
    (scalars.double, 1, 1),
    (scalars.double, 1.0, 1),
    (scalars.double, 0.5, 0.5),
    (scalars.int_or_string, 80, 80),
    (scalars.int_or_string, "50%", "50%"),
    (scalars.opaque, {"a": [None]}, {"a": [None]}),
    (scalars.base64, "YWJj", "YWJj"),
    (scalars.base64, "YW\r\nJj\n", "YWJj"),
    (scalars.base64, "YR==", "YQ=="),
    (scalars.quantity, "0.5Gi", "512Mi"),
    (scalars.quantity, " 1 ", "1"),
    (scalars.quantity, 1000, "1k"),
    (scalars.quantity, 0.5, "500m"),
    (scalars.time, "2020-02-29T01:02:03Z", "2020-02-29T01:02:03Z"),
    (scalars.time, "2020-01-01T01:00:00+02:00", "2019-12-31T23:00:00Z"),
    (scalars.time, "2020-01-01T01:00:00.999Z", "2020-01-01T01:00:00Z"),
    (scalars.time, "0001-01-01T00:00:00Z", None),
    (scalars.time, "0001-01-01T01:00:00+01:00", None),
    (scalars.time, "0099-01-01T00:00:00+00:00", "0099-01-01T00:00:00Z"),
    (scalars.micro_time, "2020-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"),
    (scalars.micro_time, "2020-01-01T00:00:00.123456-01:30", "2020-01-01T01:30:00.123456Z"),
    (scalars.micro_time, "0001-01-01T00:00:00.000000Z", None),
    (scalars.micro_time, "0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000001Z"),
]

BAD = [
    (scalars.string, 1),
    (scalars.string, None),
    (scalars.boolean, 1),
    (scalars.boolean, "true"),
    (scalars.int32, True),
    (scalars.int32, 1.0),
    (scalars.int32, "1"),
    (scalars.int32, 2**31),
    (scalars.int64, 2**63),
    (scalars.int64, -(2**63) - 1),
    (scalars.double, "1"),
    (scalars.int_or_string, 1.5),
    (scalars.int_or_string, 2**31),
    (scalars.int_or_string, True),
    (scalars.base64, "YWJ"),
    (scalars.base64, "YWJj="),
    (scalars.base64, "YW=Jj"),
    (scalars.base64, "YW Jj"),
    (scalars.base64, "é==="),
    (scalars.base64, ["YWJj"]),
    (scalars.quantity, ""),
    (scalars.quantity, "ten"),
    (scalars.quantity, True),
    (scalars.quantity, ["1"]),
    (scalars.time, "yesterday"),
    (scalars.time, "2021-02-29T00:00:00Z"),
    (scalars.time, "2020-01-01T24:00:00Z"),
    (scalars.time, "2020-01-01 00:00:00Z"),
    (scalars.time, "2020-01-01T00:00:00"),
    (scalars.time, "0001-01-01T00:00:00+01:00"),
    (scalars.time, 1577836800),
    (scalars.micro_time, "2020-01-01T00:00:00Z"),
    (scalars.micro_time, "2020-01-01T00:00:00.123Z"),
    (scalars.micro_time, "2020-01-01T00:00:00.123456789Z"),
]


@pytest.mark.parametrize(("convert", "given", "shown"), GOOD)
def test_values_are_shown_as_the_api_writes_them(convert: Convert, given: Any, shown: Any) -> None:
    assert convert(given, []) == shown


@pytest.mark.parametrize(("convert", "given"), BAD)
def test_values_of_another_type_are_refused(convert: Convert, given: Any) -> None:
    with pytest.raises(SchemaError):
        convert(given, [])
