import logging

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import resources_by_path
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.wire.kind import (
    Bookmark,
    DeletedObject,
    RefusedDocument,
    Unreadable,
    Upserted,
    documents,
    key_of,
    typed,
    version_of,
)
from plimsoll.wire.transport import SharedLine

CLAIMS = typed(PersistentVolumeClaim)
NODES = documents(resources_by_path()["", "v1", "nodes"])
CLASSES = documents(resources_by_path()["storage.k8s.io", "v1", "storageclasses"])


def test_paths_are_those_of_the_kubernetes_api() -> None:
    assert CLAIMS.path() == "/api/v1/persistentvolumeclaims"
    assert CLAIMS.path("ns", "data", "status") == (
        "/api/v1/namespaces/ns/persistentvolumeclaims/data/status"
    )
    assert NODES.path("ignored", "n1") == "/api/v1/nodes/n1"
    assert CLASSES.path(name="fast") == "/apis/storage.k8s.io/v1/storageclasses/fast"


def test_a_strange_name_cannot_reach_another_path() -> None:
    assert NODES.path(name="../pods?x") == "/api/v1/nodes/..%2Fpods%3Fx"


def claim(name: str, version: str, **more: object) -> dict[str, object]:
    metadata = {"namespace": "ns", "name": name, "resourceVersion": version}
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, **more}


def test_events_become_values() -> None:
    def event(type_: str, object_: object) -> bytes:
        return msgspec.json.encode({"type": type_, "object": object_})

    for type_ in ("ADDED", "MODIFIED"):
        added = CLAIMS.decode_event(event(type_, claim("data", "7")))
        assert isinstance(added, Upserted)
        assert (key_of(added.object), version_of(added.object)) == (ObjectKey("ns", "data"), "7")
    assert isinstance(CLAIMS.decode_event(event("DELETED", claim("data", "8"))), DeletedObject)
    assert CLAIMS.decode_event(event("ERROR", {"code": 410})) == RefusedDocument({"code": 410})


def test_a_bookmark_need_not_be_a_valid_object() -> None:
    raw = {"kind": "Pod", "metadata": {"resourceVersion": "12", "creationTimestamp": None}}
    line = msgspec.json.encode({"type": "BOOKMARK", "object": raw | {"spec": {"containers": None}}})
    assert CLAIMS.decode_event(line) == Bookmark("12")

    raw["metadata"] = {
        "resourceVersion": "13",
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    line = msgspec.json.encode({"type": "BOOKMARK", "object": raw})
    assert CLAIMS.decode_event(line) == Bookmark("13", ends_initial_events=True)


def test_an_unreadable_object_does_not_spoil_the_others(caplog: pytest.LogCaptureFixture) -> None:
    body = msgspec.json.encode(
        {
            "metadata": {"resourceVersion": "9", "continue": "more"},
            "items": [claim("good", "1"), claim("bad", "2", spec="not an object")],
        }
    )
    page = CLAIMS.decode_page(body)
    assert [item.name for item in page.items] == ["good"]
    assert (page.resource_version, page.continue_) == ("9", "more")
    assert [r.levelno for r in caplog.records] == [logging.ERROR]

    line = msgspec.json.encode({"type": "ADDED", "object": claim("bad", "3", spec=[])})
    assert CLAIMS.decode_event(line) == Unreadable(ObjectKey("ns", "bad"), "3")


def test_a_list_without_items_is_empty() -> None:
    assert NODES.decode_page(b'{"metadata":{"resourceVersion":"1"},"items":null}').items == ()


def test_what_is_no_event_at_all_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        CLAIMS.decode_event(b"<html>")


def test_a_line_that_several_readers_get_is_decoded_once_to_what_never_changes() -> None:
    text = msgspec.json.encode({"type": "ADDED", "object": claim("data", "8")})
    line = SharedLine(text)
    assert typed(PersistentVolumeClaim).decode_event(line) is CLAIMS.decode_event(line)
    assert CLAIMS.decode_event(line) == CLAIMS.decode_event(bytes(line))
    nodes = documents(resources_by_path()["", "v1", "nodes"])
    one, other = nodes.decode_event(line), nodes.decode_event(line)
    assert one == other
    assert one is not other
