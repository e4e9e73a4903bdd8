"""The embedded API server without any network: a request and a user in, an answer out."""

import dataclasses
import logging
from functools import partial

from msgspec.structs import replace

from plimsoll.apiserver.access.impersonation import Headers, acting_user
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.admission.warnings.deprecated import deprecations
from plimsoll.apiserver.audit.trail import AuditTrail
from plimsoll.apiserver.http.answers import Answer, refusal, text_answer
from plimsoll.apiserver.http.flow.levels import HEALTH, find_level
from plimsoll.apiserver.http.flow.seat_metrics import SeatMetrics
from plimsoll.apiserver.http.flow.seats import FairSeats, Seat, all_seats, width_of_list
from plimsoll.apiserver.http.health import Health
from plimsoll.apiserver.http.informational import OPENAPI, Informational, ServerFacts
from plimsoll.apiserver.http.negotiation import negotiated
from plimsoll.apiserver.http.request_attributes import attributes_of
from plimsoll.apiserver.http.requests import (
    PathMissingError,
    Target,
    is_builtin,
    is_resource_path,
    parse_target,
)
from plimsoll.apiserver.metrics import ServerMetrics
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.heavy_work import SLOW_FORMAT_BYTES
from plimsoll.apiserver.storage.resource_kinds import collection_of
from plimsoll.apiserver.storage.store import StoreFailedError
from plimsoll.apiserver.verbs.dispatch import OnDecided, ResourceRoutes
from plimsoll.wire.transport import Request

log = logging.getLogger(__name__)


def _do_nothing() -> None:
    """Requests that are exempt have no seat to give back."""


class ApiServer:
    def __init__(
        self,
        cluster: StoredCluster,
        metrics: ServerMetrics | None = None,
        audit: AuditTrail | None = None,
    ) -> None:
        self.cluster = cluster
        self.metrics = metrics or ServerMetrics(cluster)
        self.audit = audit
        if audit is not None:
            self.metrics.register(audit)
        self.seats = all_seats(cluster.clock)
        self.metrics.register(SeatMetrics(self.seats))
        self._routes = ResourceRoutes(cluster)
        self._told = Informational(lambda: cluster.custom.resources, cluster.work.run)

    async def handle(self, request: Request, user: User) -> Answer:
        """Never raises for anything a client can send."""
        began = self.cluster.clock.monotonic()
        target = self._target(request.path)
        followed = None if self.audit is None else self.audit.begin(request, target, user)
        level = find_level(request.path, target, user)
        with self.metrics.in_flight(request):
            if level is None:
                handled = await self._handled(request, target, user)
            else:
                handled = await self._seated(self.seats[level.name], request, target, user)
            answer = _completed(handled, target)
        seconds = self.cluster.clock.monotonic() - began
        self.metrics.observe(request, target, answer.status, seconds)
        if followed is not None and self.audit is not None:
            return self.audit.end(followed, answer)
        return answer

    async def _seated(
        self, seats: FairSeats, request: Request, target: Target | None, user: User
    ) -> Answer:
        """The answer to a request that competes with others; a long one keeps its seat until it
        is sent. A write gives it back when it is decided: while it waits for the disk it takes
        nothing from others, and the more writes wait, the fewer batches are written."""
        try:
            seat = await seats.take(user.name, self._width(request, target))
        except ApiError as error:
            return refused(error, request)
        answer = Answer()
        try:
            answer = await self._handled(request, target, user, on_decided=seat.give_back)
        finally:
            if answer.stream is None or not answer.stream.has_end:
                seat.give_back()
        return _given_back_at_end(answer, seat)

    def _width(self, request: Request, target: Target | None) -> int:
        """How many seats the request takes: a list as many as it has objects to look at."""
        if target is None or target.name or request.method not in ("GET", "DELETE"):
            return 1
        return width_of_list(len(self.cluster.revisions.collection(collection_of(target.resource))))

    async def _handled(
        self,
        request: Request,
        target: Target | None,
        user: User,
        *,
        on_decided: OnDecided = _do_nothing,
    ) -> Answer:
        if is_resource_path(request.path) and not is_builtin(request.path):
            # It may have waited for its seat, while definitions came and went.
            target = self._target(request.path)
        try:
            self._authorize(request, target, user)
            answer = await self._answer(request, target, user, on_decided=on_decided)
            return negotiated(answer, request) if target is not None else answer
        except PathMissingError as error:
            return text_answer(f"{error}\n", error.code)
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
            self._audit_refusal(request, target, user, error)
            raise

    def unauthenticated(self, request: Request, error: ApiError) -> None:
        """A request whose credentials belong to no user was refused."""
        target = self._target(request.path)
        self.metrics.observe(request, target, error.code, 0.0)
        self._audit_refusal(request, target, User(name=""), error)

    def _audit_refusal(
        self, request: Request, target: Target | None, user: User, error: ApiError
    ) -> None:
        followed = None if self.audit is None else self.audit.begin(request, target, user)
        if followed is not None and self.audit is not None:
            self.audit.end(followed, refusal(error))

    def _authorize(self, request: Request, target: Target | None, user: User) -> None:
        # Most requests come from administrators: not even what is asked for needs to be found out.
        # Questions of health are answered to all, whatever becomes of the roles.
        is_health = request.method == "GET" and request.path in HEALTH
        if not user.is_admin and not is_health:
            self.cluster.access.check(user, attributes_of(request, target))

    def acting_user(self, user: User, headers: Headers) -> User:
        """Whom the request is answered for, if it asks for another user. Raises ApiError."""
        return acting_user(user, headers, self.cluster.access)

    def _target(self, path: str) -> Target | None:
        if not is_resource_path(path):
            return None
        try:
            return parse_target(path, self.cluster.custom.find)
        except ApiError:
            return None

    async def _answer(
        self, request: Request, target: Target | None, user: User, *, on_decided: OnDecided
    ) -> Answer:
        if target is None:
            told = await self._tell(request)
            if told is not None:
                return told
            target = parse_target(request.path, self.cluster.custom.find)
        return await self._routes.answer(request, target, user, on_decided=on_decided)

    async def _tell(self, request: Request) -> Answer | None:
        if request.path.startswith(OPENAPI):
            return await self._told.openapi(request)
        return self._told.answer(request, self._facts())

    def _facts(self) -> ServerFacts:
        return ServerFacts(
            health=Health(
                store_failure=self.cluster.revisions.failure,
                is_stopping=self.cluster.hub.stopping,
            ),
            metrics=self.metrics.text,
            token_key=lambda: self.cluster.authenticator.tokens.key.public_document,
        )


def refused(error: ApiError, request: Request) -> Answer:
    """The error as a Status, in the format that the client reads."""
    return negotiated(refusal(error), request)


def _given_back_at_end(answer: Answer, seat: Seat) -> Answer:
    stream = answer.stream
    if stream is None or not stream.has_end:
        return answer
    close = stream.close

    def close_both() -> None:
        seat.give_back()
        close()

    return replace(answer, stream=dataclasses.replace(stream, close=close_both))


def _completed(answer: Answer, target: Target | None) -> Answer:
    """With the warnings that every answer to such a request carries."""
    warnings = tuple(deprecations(target))
    return replace(answer, warnings=answer.warnings + warnings) if warnings else answer


def _not_stored(error: StoreFailedError) -> ApiError:
    log.warning("write refused", extra={"error": str(error)})
    return ApiError(
        503,
        "ServiceUnavailable",
        "the change could not be written to disk and did not take place: free some space in the "
        f"server's data directory and try again ({error})",
        {"retryAfterSeconds": 1},
    )
