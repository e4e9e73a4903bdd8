"""Objects by path, behind a transport: just enough of an API to write events and leases to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from plimsoll.api.registry import Document
from plimsoll.wire.errors import KubeError
from plimsoll.wire.transport import Request, Response, StreamedResponse


def _refusal(code: int, reason: str) -> Response:
    status = {"kind": "Status", "code": code, "reason": reason, "message": reason}
    return Response(status=code, body=msgspec.json.encode(status))


@dataclass
class MemoryApi:
    objects: dict[str, Document] = field(default_factory=dict)
    version: int = 0
    failing: list[Response | KubeError] = field(default_factory=list)
    lost_answers: list[KubeError] = field(default_factory=list)
    """Raised after the request has been carried out."""
    requests: list[Request] = field(default_factory=list)

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        if self.failing:
            given = self.failing.pop(0)
            if isinstance(given, KubeError):
                raise given
            return given
        response = self._carry_out(request)
        if self.lost_answers:
            raise self.lost_answers.pop(0)
        return response

    def _carry_out(self, request: Request) -> Response:
        body: Document = msgspec.json.decode(request.body) if request.body else {}
        known = self.objects.get(request.path)
        match request.method:
            case "POST":
                path = f"{request.path}/{body['metadata']['name']}"
                if path in self.objects:
                    return _refusal(409, "AlreadyExists")
                return self._store(path, body, 201)
            case _ if known is None:
                return _refusal(404, "NotFound")
            case "PUT":
                if body["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
                    return _refusal(409, "Conflict")
                return self._store(request.path, body)
            case "PATCH":
                return self._store(request.path, {**known, **body})
            case _:
                return Response(status=200, body=msgspec.json.encode(known))

    def _store(self, path: str, document: Document, status: int = 200) -> Response:
        self.version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self.version)}
        self.objects[path] = {**document, "metadata": metadata}
        return Response(status=status, body=msgspec.json.encode(self.objects[path]))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        self.requests.append(request)
        yield StreamedResponse(status=405)

    async def close(self) -> None:
        pass
