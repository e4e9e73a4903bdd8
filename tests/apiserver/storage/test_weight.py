"""A write is decided beside the event loop if it is long, or has many values, in any format."""

from typing import Any

import msgspec
import pytest

from plimsoll.api.registry import resources_by_path
from plimsoll.apiserver.http.negotiation import PROTOBUF
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.storage.weight import is_heavy, most_values
from plimsoll.wire.transport import Request

PODS = kind_of(resources_by_path()["", "v1", "pods"])


def sent(body: bytes, media_type: str = "application/json") -> Request:
    return Request(method="POST", path="/", headers={"content-type": media_type}, body=body)


def json(value: Any) -> bytes:
    return msgspec.json.encode(value)


@pytest.mark.parametrize(
    ("request_", "heavy"),
    [
        pytest.param(sent(json({"a": "x" * 30_000})), False, id="one long string"),
        pytest.param(sent(json({"a": "x" * 40_000})), True, id="one string that is too long"),
        pytest.param(sent(json([{}] * 250)), False, id="few objects"),
        pytest.param(sent(json([{}] * 400)), True, id="many objects"),
        pytest.param(sent(json(list(range(700)))), True, id="many numbers"),
        pytest.param(sent(b"- a\n" * 700, "application/yaml"), True, id="many lines of YAML"),
        pytest.param(sent(b"\x12\x00" * 700, PROTOBUF), True, id="many empty messages"),
        pytest.param(sent(b"\x12\x20" + b"x" * 3000, PROTOBUF), False, id="protobuf of a pod"),
    ],
)
def test_a_write_is_weighed_by_its_bytes_and_its_values(request_: Request, *, heavy: bool) -> None:
    assert is_heavy(request_, PODS, None) is heavy


def test_what_is_stored_counts_as_well() -> None:
    stored = StoredRecord(key="default/a", revision=1, raw=json([{}] * 400), labels={}, fields={})
    assert is_heavy(sent(b"{}"), PODS, stored)
    assert not is_heavy(sent(b"{}"), PODS, None)


@pytest.mark.parametrize(
    "value", [[], {}, [1], [1, 2, 3], {"a": 1, "b": [{}, {}]}, [[[[1]]]], [{"a": {"b": {}}}]]
)
def test_no_fewer_values_are_counted_than_there_are(value: Any) -> None:
    assert most_values(json(value)) >= number_of_values(value) - 1


def number_of_values(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(number_of_values, inner))
