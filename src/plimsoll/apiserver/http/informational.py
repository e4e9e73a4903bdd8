"""What the server tells about itself: health, version, metrics, discovery, OpenAPI."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.access.tokens.claims import ISSUER
from plimsoll.apiserver.access.tokens.jwt import ALGORITHM
from plimsoll.apiserver.http.answers import Answer, json_answer, text_answer
from plimsoll.apiserver.http.health import Health, health_answer
from plimsoll.apiserver.http.negotiation import negotiated, not_acceptable, wanted
from plimsoll.apiserver.http.requests import method_not_allowed, resource_missing
from plimsoll.apiserver.model import discovery
from plimsoll.apiserver.model.openapi import document as openapi, swagger, swagger_protobuf
from plimsoll.apiserver.model.slices import encode_members
from plimsoll.apiserver.model.status import ApiError
from plimsoll.wire.transport import Request

AGGREGATED = "APIGroupDiscoveryList"
API_LEVEL = "37"

OPENAPI = "/openapi/"
OPENAPI_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OPENAPI_V2_ASKED = (
    OPENAPI_V2_PROTOBUF,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
"""The form's name, and the one that clients use, which is no media type."""
TOLD = (
    ".well-known/openid-configuration",
    "healthz",
    "livez",
    "metrics",
    "openapi/v2",
    "openapi/v3",
    "openid/v1/jwks",
    "readyz",
    "version",
)
"""Paths besides those of resources."""


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


Run = Callable[[Callable[[], bytes]], Awaitable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What differs from one server to another."""

    health: Health
    metrics: Callable[[], str]
    token_key: Callable[[], Document]
    """The public half of the key that signs tokens."""


class Informational:
    """Answers from what is served at the moment; long documents are made once for each state."""

    def __init__(self, resources: Callable[[], tuple[Resource, ...]], run: Run) -> None:
        """`run` does beside the event loop what takes long."""
        self._resources = resources
        self._run = run
        self._made_for: tuple[Resource, ...] = ()
        self._made: dict[tuple[str, ...], bytes] = {}
        self._fingerprints = openapi.Fingerprints()
        self._one_at_a_time = asyncio.Lock()
        """Who comes while a document is made gets the same one."""

    def answer(self, request: Request, facts: ServerFacts) -> Answer | None:
        """None when the request is about a resource."""
        parts = request.path.strip("/").split("/")
        match parts:
            case ["healthz" | "livez" | "readyz" as probe, *_]:
                return health_answer(request, probe, facts.health) or _no_page()
            case ["version"]:
                return _only_get(request, lambda: json_answer(version()))
            case ["metrics"]:
                return _only_get(request, lambda: text_answer(facts.metrics()))
            case ["openid", "v1", "jwks"]:
                return _only_get(request, lambda: _keys(facts.token_key()))
            case [".well-known", "openid-configuration"]:
                return _only_get(request, lambda: _issuer(request.headers.get("host", "")))
            case ["api" | "apis", *_] if len(parts) <= (2 if parts[0] == "api" else 3):
                return self._discovery(request, parts)
            case ["api" | "apis", *_]:
                return None
            case [""]:
                return _only_get(request, lambda: json_answer({"paths": self._paths()}))
            case _:
                return _no_page()

    async def openapi(self, request: Request) -> Answer | None:
        """Documents of OpenAPI, which take long to make: that is done beside the event loop.

        None when the path is of no such document.
        """
        _, version, *rest = request.path.strip("/").split("/")
        if version not in ("v2", "v3") or (version == "v2" and rest):
            return None
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        if version == "v2":
            return await self._openapi_v2(request)
        return Answer(body=await self._openapi_v3("/".join(rest)))

    async def _openapi_v2(self, request: Request) -> Answer:
        """The one document for older clients."""
        accept = request.headers.get("accept", "")
        if any(name in accept for name in OPENAPI_V2_ASKED):
            body = await self._made_once(("v2", "protobuf"), _swagger_protobuf)
            return Answer(body=body, content_type=OPENAPI_V2_PROTOBUF)
        wanted(request, forms=frozenset())
        return Answer(body=await self._made_once(("v2", "json"), _swagger_json))

    async def _openapi_v3(self, path: str) -> bytes:
        if not path:
            return await self._made_once(("v3",), self._openapi_index)
        if not openapi.is_served(self._resources(), path):
            raise ApiError(404, "NotFound", f"there is no OpenAPI document for {path}", {})
        return await self._made_once(("v3", path), partial(_openapi_document, path))

    async def _made_once(
        self, name: tuple[str, ...], make: Callable[[tuple[Resource, ...]], bytes]
    ) -> bytes:
        made = self._current().get(name)
        if made is not None:
            return made
        async with self._one_at_a_time:
            made, resources = self._current().get(name), self._resources()
            if made is None:
                made = await self._run(partial(make, resources))
                if resources is self._made_for:  # else other resources are served by now
                    self._made[name] = made
            return made

    def _openapi_index(self, resources: tuple[Resource, ...]) -> bytes:
        return msgspec.json.encode(self._fingerprints.index(resources))

    def _current(self) -> dict[tuple[str, ...], bytes]:
        """What was made of the resources that are served now."""
        resources = self._resources()
        if resources is not self._made_for:
            self._made_for, self._made = resources, {}
        return self._made

    def _paths(self) -> list[str]:
        groups = sorted({f"/{resource.group_version_path}" for resource in self._resources()})
        return ["/api", "/apis", *groups, *(f"/{path}" for path in TOLD)]

    def _discovery(self, request: Request, parts: list[str]) -> Answer:
        if request.method not in ("GET", "HEAD") and parts != ["apis"]:
            raise method_not_allowed()
        accept = request.headers.get("accept", "")
        at_root = len(parts) == 1
        if at_root and AGGREGATED in accept:
            aggregated = self._aggregated(accept, parts[0])
            if aggregated is not None:
                return aggregated
        wanted(request, forms=frozenset())
        host = request.headers.get("host", "")
        return negotiated(json_answer(_classic(self._resources(), parts, host)), request)

    def _aggregated(self, accept: str, root: str) -> Answer | None:
        for clause in accept.split(","):
            text = clause.replace(" ", "")
            if AGGREGATED not in text or "g=apidiscovery.k8s.io" not in text:
                continue
            for version_name in discovery.AGGREGATED_VERSIONS:
                if f"v={version_name};" in f"{text};":
                    return Answer(
                        body=self._aggregated_body(root, version_name),
                        content_type=(
                            "application/json;g=apidiscovery.k8s.io;"
                            f"v={version_name};as={AGGREGATED}"
                        ),
                    )
        if "application/json," in f"{accept}," or "*/*" in accept:
            return None
        raise not_acceptable()

    def _aggregated_body(self, root: str, version_name: str) -> bytes:
        made = self._current().get((root, version_name))
        if made is None:
            make = discovery.aggregated_core if root == "api" else discovery.aggregated_groups
            made = msgspec.json.encode(make(self._resources(), version_name))
            self._current()[root, version_name] = made
        return made


def _openapi_document(path: str, resources: tuple[Resource, ...]) -> bytes:
    return encode_members(openapi.find_document(resources, path))


def _swagger_json(resources: tuple[Resource, ...]) -> bytes:
    return encode_members(swagger.document(resources))


def _swagger_protobuf(resources: tuple[Resource, ...]) -> bytes:
    return swagger_protobuf.encode(swagger.document(resources))


def _only_get(request: Request, make: Any) -> Answer:
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    made: Answer = make()
    return made


def _keys(key: Document) -> Answer:
    """What others need to verify tokens of service accounts."""
    body = msgspec.json.encode({"keys": [key]})
    return Answer(body=body, content_type="application/jwk-set+json")


def _issuer(host: str) -> Answer:
    return json_answer(
        {
            "issuer": ISSUER,
            "jwks_uri": f"https://{host}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        }
    )


def _no_page() -> Answer:
    return text_answer("404 page not found\n", 404)


def _classic(resources: tuple[Resource, ...], parts: list[str], host: str) -> Document:
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
