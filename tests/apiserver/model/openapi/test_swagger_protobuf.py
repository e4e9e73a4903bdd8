from plimsoll.api.registry import builtin_resources
from plimsoll.apiserver.model.messages.wire import raw_fields
from plimsoll.apiserver.model.openapi import swagger, swagger_protobuf
from tests.apiserver.model.custom.definitions import snapshot_resources

CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"


def parts(message: bytes, number: int) -> list[bytes]:
    """The contents of a field that holds text or messages."""
    found = []
    for field, _, content in raw_fields(memoryview(message)):
        if field == number:
            assert not isinstance(content, int)
            found.append(bytes(content))
    return found


def test_a_schema_is_written_as_a_real_server_writes_it() -> None:
    written = swagger_protobuf.schema(
        {
            "description": "d",
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "array", "items": {"$ref": "#/definitions/x"}}},
        }
    )
    item = b"\x0a\x0f#/definitions/x"
    field = b"\xb2\x01\x07\x0a\x05array" + b"\xba\x01\x13\x0a\x11" + item
    named = b"\x0a\x01a\x12" + bytes([len(field)]) + field
    properties = b"\x0a" + bytes([len(named)]) + named
    assert written == (
        b"\x22\x01d"
        b"\x9a\x01\x01a"
        b"\xb2\x01\x08\x0a\x06object"
        b"\xca\x01" + bytes([len(properties)]) + properties
    )


def test_clients_find_definitions_by_name_and_kinds_beside_them() -> None:
    message = swagger_protobuf.encode(
        swagger.document((*builtin_resources(), *snapshot_resources()))
    )
    assert parts(message, 1) == [b"2.0"]
    [definitions] = parts(message, 9)
    by_name = {parts(named, 1)[0]: parts(named, 2)[0] for named in parts(definitions, 1)}
    [extension] = parts(by_name[CONFIG_MAP.encode()], 31)
    assert parts(extension, 1) == [b"x-kubernetes-group-version-kind"]
    assert b'"kind":"ConfigMap"' in extension
