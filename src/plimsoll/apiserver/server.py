"""The embedded API server without any network: a request and a user in, an answer out."""

import logging
from functools import partial
from typing import Any

from msgspec.structs import replace

from plimsoll.apiserver.admission.warnings.deprecated import deprecations
from plimsoll.apiserver.admission.warnings.not_enforced import ignored_headers
from plimsoll.apiserver.http import informational
from plimsoll.apiserver.http.answers import Answer, refusal
from plimsoll.apiserver.http.identity import AdminsOnly, Authorizer, User
from plimsoll.apiserver.http.negotiation import YAML, encode_yaml, refusal_type
from plimsoll.apiserver.http.requests import Query, Target, parse_target
from plimsoll.apiserver.metrics import ServerMetrics
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.heavy_work import SLOW_FORMAT_BYTES
from plimsoll.apiserver.storage.store import StoreFailedError
from plimsoll.apiserver.verbs.dispatch import ResourceRoutes
from plimsoll.wire.transport import Request

log = logging.getLogger(__name__)


class ApiServer:
    def __init__(
        self,
        cluster: StoredCluster,
        authorizer: Authorizer | None = None,
        metrics: ServerMetrics | None = None,
    ) -> None:
        self.cluster = cluster
        self.metrics = metrics or ServerMetrics(cluster)
        self._authorizer = authorizer or AdminsOnly()
        self._routes = ResourceRoutes(cluster)

    async def handle(self, request: Request, user: User) -> Answer:
        """Never raises for anything a client can send."""
        began = self.cluster.clock.monotonic()
        target = self._target(request.path)
        with self.metrics.in_flight(request):
            answer = _completed(await self._handled(request, target, user), request, target)
        seconds = self.cluster.clock.monotonic() - began
        self.metrics.observe(request, target, answer.status, seconds)
        return answer

    async def _handled(self, request: Request, target: Target | None, user: User) -> Answer:
        try:
            self._authorize(request, target, user)
            return await self._answer(request, target, user)
        except ApiError as error:
            return await self._refused(error, request)
        except StoreFailedError as error:
            return refused(_not_stored(error), request)
        except RecursionError:
            return refused(ApiError(400, "BadRequest", "the request is nested too deeply"), request)

    async def _refused(self, error: ApiError, request: Request) -> Answer:
        """A message of many complaints makes a long document, which takes time to write."""
        if len(str(error)) <= SLOW_FORMAT_BYTES:
            return refused(error, request)
        return await self.cluster.work.run(partial(refused, error, request))

    def authorize(self, request: Request, user: User) -> None:
        """Raises 403. It looks at method and path alone: the body need not be there yet."""
        target = self._target(request.path)
        try:
            self._authorize(request, target, user)
        except ApiError as error:
            self.metrics.observe(request, target, error.code, 0.0)
            raise

    def _authorize(self, request: Request, target: Target | None, user: User) -> None:
        if self._authorizer.allows(user, request.method, request.path):
            return
        verb = request.method.lower()
        if target is None:
            raise ApiError(
                403,
                "Forbidden",
                f'forbidden: User "{user.name}" cannot {verb} path "{request.path}"',
                {},
            )
        resource = target.resource
        details: dict[str, Any] = {"name": target.name} if target.name else {}
        if resource.group:
            details["group"] = resource.group
        details["kind"] = resource.plural
        raise ApiError(
            403,
            "Forbidden",
            f'{resource.qualified_name} is forbidden: User "{user.name}" cannot {verb} resource '
            f'"{resource.plural}" in API group "{resource.group}"',
            details,
        )

    def _target(self, path: str) -> Target | None:
        if not _is_resource_path(path):
            return None
        try:
            return parse_target(path)
        except ApiError:
            return None

    async def _answer(self, request: Request, target: Target | None, user: User) -> Answer:
        if target is None:
            if request.path == informational.OPENAPI_V2:
                return await informational.openapi_v2(request)
            failure = self.cluster.revisions.failure
            told = informational.answer(request, failure=failure, metrics=self.metrics.text)
            if told is not None:
                return told
            target = parse_target(request.path)
        return await self._routes.answer(request, target, Query(request), user)


def refused(error: ApiError, request: Request) -> Answer:
    """The error as a Status, in YAML for those who read that."""
    told = refusal(error)
    if refusal_type(request) != YAML:
        return told
    return replace(told, content_type=YAML, body=encode_yaml(told.body))


def _completed(answer: Answer, request: Request, target: Target | None) -> Answer:
    """With the warnings that every answer to such a request carries."""
    warnings = (*deprecations(target), *ignored_headers(request.headers))
    return replace(answer, warnings=answer.warnings + warnings) if warnings else answer


def _is_resource_path(path: str) -> bool:
    parts = path.strip("/").split("/")
    needed = {"api": 3, "apis": 4}.get(parts[0], 0)
    return bool(needed) and len(parts) >= needed


def _not_stored(error: StoreFailedError) -> ApiError:
    log.warning("write refused", extra={"error": str(error)})
    return ApiError(
        503,
        "ServiceUnavailable",
        "the change could not be written to disk and did not take place: free some space in the "
        f"server's data directory and try again ({error})",
        {"retryAfterSeconds": 1},
    )
