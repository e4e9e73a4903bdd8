"""What the server tells about itself: health, version, metrics, discovery, OpenAPI."""

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from plimsoll.api.registry import Document, all_resources
from plimsoll.apiserver.http.answers import Answer, json_answer, text_answer
from plimsoll.apiserver.http.negotiation import YAML, encode_yaml, not_acceptable, wanted
from plimsoll.apiserver.http.requests import method_not_allowed, resource_missing
from plimsoll.apiserver.model import discovery
from plimsoll.apiserver.model.openapi import document as openapi, swagger, swagger_protobuf
from plimsoll.apiserver.model.status import ApiError
from plimsoll.wire.transport import Request

AGGREGATED = "APIGroupDiscoveryList"
API_LEVEL = "37"

OPENAPI_V2 = "/openapi/v2"
OPENAPI_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OPENAPI_V2_ASKED = (
    OPENAPI_V2_PROTOBUF,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
"""The form's name, and the one that clients use, which is no media type."""


def version() -> dict[str, Any]:
    return {
        "major": "1",
        "minor": API_LEVEL,
        "gitVersion": f"v1.{API_LEVEL}.0+plimsoll",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "CPython",
        "platform": "linux/amd64",
        "emulationMajor": "1",
        "emulationMinor": API_LEVEL,
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": str(int(API_LEVEL) - 1),
    }


def answer(request: Request, *, failure: str, metrics: Callable[[], str]) -> Answer | None:
    """None when the request is about a resource.

    `failure` says why nothing can be stored, empty while all is well.
    """
    parts = request.path.strip("/").split("/")
    match parts:
        case ["healthz" | "livez" | "readyz" as probe, *_]:
            return _only_get(request, lambda: _health(probe, failure))
        case ["version"]:
            return _only_get(request, lambda: json_answer(version()))
        case ["metrics"]:
            return _only_get(request, lambda: text_answer(metrics()))
        case ["openapi", "v3", *rest]:
            return _only_get(request, lambda: _openapi(rest))
        case ["api" | "apis", *_] if len(parts) <= (2 if parts[0] == "api" else 3):
            return _discovery(request, parts)
        case ["api" | "apis", *_]:
            return None
        case [""]:
            return _only_get(request, lambda: json_answer({"paths": _paths()}))
        case _:
            return text_answer("404 page not found\n", 404)


async def openapi_v2(request: Request) -> Answer:
    """The one document for older clients; made in a thread, because it takes its time."""
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    accept = request.headers.get("accept", "")
    if any(name in accept for name in OPENAPI_V2_ASKED):
        return Answer(
            body=await asyncio.to_thread(_swagger_protobuf), content_type=OPENAPI_V2_PROTOBUF
        )
    wanted(request, forms=frozenset())
    return Answer(body=await asyncio.to_thread(_swagger_json))


@cache
def _swagger_json() -> bytes:
    return msgspec.json.encode(swagger.document(all_resources()))


@cache
def _swagger_protobuf() -> bytes:
    return swagger_protobuf.encode(swagger.document(all_resources()))


def _only_get(request: Request, make: Any) -> Answer:
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    made: Answer = make()
    return made


def _paths() -> list[str]:
    groups = sorted({f"/{resource.group_version_path}" for resource in all_resources()})
    told = ("healthz", "livez", "metrics", "openapi/v2", "openapi/v3", "readyz", "version")
    return ["/api", "/apis", *groups, *(f"/{path}" for path in told)]


def _health(probe: str, failure: str) -> Answer:
    if probe == "readyz" and failure:
        return text_answer(f"[-]store failed: {failure}\nreadyz check failed\n", 500)
    return text_answer("ok")


def _discovery(request: Request, parts: list[str]) -> Answer:
    if request.method not in ("GET", "HEAD") and parts != ["apis"]:
        raise method_not_allowed()
    accept = request.headers.get("accept", "")
    at_root = len(parts) == 1
    if at_root and AGGREGATED in accept:
        aggregated = _aggregated(accept, parts[0])
        if aggregated is not None:
            return aggregated
    form = wanted(request, forms=frozenset())
    document = msgspec.json.encode(_classic(parts, request.headers.get("host", "")))
    if form.media_type == YAML:
        return Answer(body=encode_yaml(document), content_type=YAML)
    return Answer(body=document)


def _aggregated(accept: str, root: str) -> Answer | None:
    for clause in accept.split(","):
        text = clause.replace(" ", "")
        if AGGREGATED not in text or "g=apidiscovery.k8s.io" not in text:
            continue
        for version_name in discovery.AGGREGATED_VERSIONS:
            if f"v={version_name};" in f"{text};":
                return Answer(
                    body=_aggregated_body(root, version_name),
                    content_type=(
                        f"application/json;g=apidiscovery.k8s.io;v={version_name};as={AGGREGATED}"
                    ),
                )
    if "application/json," in f"{accept}," or "*/*" in accept:
        return None
    raise not_acceptable()


@cache
def _aggregated_body(root: str, version_name: str) -> bytes:
    make = discovery.aggregated_core if root == "api" else discovery.aggregated_groups
    return msgspec.json.encode(make(all_resources(), version_name))


def _classic(parts: list[str], host: str) -> Document:
    resources = all_resources()
    match parts:
        case ["api"]:
            found: Document | None = discovery.api_versions(host)
        case ["apis"]:
            found = discovery.group_list(resources)
        case ["apis", group]:
            found = discovery.find_group(resources, group)
        case ["api", version_name]:
            found = discovery.find_resource_list(resources, "", version_name)
        case _:
            found = discovery.find_resource_list(resources, parts[1], parts[2])
    if found is None:
        raise resource_missing()
    return found


def _openapi(rest: list[str]) -> Answer:
    resources = all_resources()
    if not rest:
        return json_answer(openapi.index(resources))
    path = "/".join(rest)
    found = openapi.find_document(resources, path)
    if found is None:
        raise ApiError(404, "NotFound", f"there is no OpenAPI document for {path}", {})
    return json_answer(found)
