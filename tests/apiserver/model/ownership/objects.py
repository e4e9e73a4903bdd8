"""Short objects and endpoints for the tests of ownership."""

from typing import Any

from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.apiserver.model.ownership.endpoint import Endpoint, endpoint
from plimsoll.apiserver.model.ownership.tracking import Manager

NOON = "2026-01-01T12:00:00Z"
LATER = "2026-01-01T13:00:00Z"


def at(kind: str, subresource: str = "", *, group: str = "") -> Endpoint:
    return endpoint(resources_by_kind()[group, "v1", kind], subresource)


def a_config_map(data: dict[str, Any] | None = None, **metadata: Any) -> Document:
    document: Document = {"kind": "ConfigMap", "apiVersion": "v1"}
    document["metadata"] = {"name": "settings", "uid": "u1"} | metadata
    return document if data is None else document | {"data": data}


def a_pod(*containers: Document, **metadata: Any) -> Document:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "web", "uid": "u2"} | metadata,
        "spec": {"containers": list(containers)},
        "status": {},
    }


def by(name: str, time: str = NOON) -> Manager:
    return Manager(name, time)


def owned(managed_fields: list[Document]) -> dict[str, Document]:
    """What each manager owns, by its name."""
    return {entry["manager"]: entry["fieldsV1"] for entry in managed_fields}
