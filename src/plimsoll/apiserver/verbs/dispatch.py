"""Requests about resources: the verb finds its handler, and the handler makes the answer.

Readers are answered from durable state. A write is decided without waiting and answered once it
is durable; a large one is decided beside the event loop, on a draft.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from msgspec import structs

from plimsoll.api.registry import Resource
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.admission.policies.limits import PolicyTimeNeededError
from plimsoll.apiserver.admission.webhooks.calls import WebhookCalls, WebhookNeededError
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.http.negotiation import AcceptedForm, wanted_of
from plimsoll.apiserver.http.requests import Query, Target
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.drafts import Draft
from plimsoll.apiserver.storage.heavy_work import too_busy
from plimsoll.apiserver.storage.quotas.quota_status import is_uncounted
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.storage.weight import compares_rules, is_heavy, is_large_schema, reads_much
from plimsoll.apiserver.verbs.create import answer_create
from plimsoll.apiserver.verbs.delete import answer_delete
from plimsoll.apiserver.verbs.delete_collection import answer_delete_collection
from plimsoll.apiserver.verbs.patch import answer_patch
from plimsoll.apiserver.verbs.policies import are_bound, decide_briefly
from plimsoll.apiserver.verbs.read import ReadRequest, answer_get, answer_list
from plimsoll.apiserver.verbs.subresources.binding import answer_create_binding
from plimsoll.apiserver.verbs.subresources.connect import CONNECTIONS, answer_connect
from plimsoll.apiserver.verbs.subresources.eviction import answer_create_eviction
from plimsoll.apiserver.verbs.subresources.finalize import answer_finalize
from plimsoll.apiserver.verbs.subresources.scale import (
    answer_get_scale,
    answer_patch_scale,
    answer_update_scale,
)
from plimsoll.apiserver.verbs.subresources.token import answer_create_token
from plimsoll.apiserver.verbs.update import answer_update
from plimsoll.apiserver.verbs.verb import Verb, check_verb, verb_of
from plimsoll.apiserver.verbs.watch import answer_watch
from plimsoll.apiserver.verbs.webhooks import are_configured, decide_with_webhooks, seconds_for
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest
from plimsoll.wire.transport import Request

DRAFTS = 5
"""How often a large write is decided before others, which overtook it, may go first."""

ReadHandler = Callable[[ReadRequest], Awaitable[Answer]]
WriteHandler = Callable[[WriteRequest], AnswerWhenDurable]
"""Stages the change without waiting. Raises ApiError."""

READS: Mapping[Verb, ReadHandler] = {
    Verb.GET: answer_get,
    Verb.LIST: answer_list,
    Verb.WATCH: answer_watch,
}
WRITES: Mapping[Verb, WriteHandler] = {
    Verb.CREATE: answer_create,
    Verb.UPDATE: answer_update,
    Verb.PATCH: answer_patch,
    Verb.DELETE: answer_delete,
}
SUBRESOURCE_READS: Mapping[tuple[Verb, str], ReadHandler] = {(Verb.GET, "scale"): answer_get_scale}
SUBRESOURCE_WRITES: Mapping[tuple[Verb, str], WriteHandler] = {
    (Verb.CREATE, "binding"): answer_create_binding,
    (Verb.CREATE, "eviction"): answer_create_eviction,
    (Verb.CREATE, "token"): answer_create_token,
    (Verb.UPDATE, "finalize"): answer_finalize,
    (Verb.UPDATE, "scale"): answer_update_scale,
    (Verb.PATCH, "scale"): answer_patch_scale,
}
"""Subresources that are more than a part of their object have handlers of their own."""


OnDecided = Callable[[], None]
"""Called when a write is decided, and only waits for the disk."""


class ResourceRoutes:
    """Answers every request whose path names a resource."""

    def __init__(self, cluster: StoredCluster) -> None:
        self._cluster = cluster

    async def answer(
        self, request: Request, target: Target, user: User, *, on_decided: OnDecided
    ) -> Answer:
        """Raises ApiError."""
        await self._compile(target.resource)
        query = Query(request)
        verb = verb_of(request, target, query)
        check_verb(verb, target)
        form = wanted_of(request, target.resource)
        if target.subresource in CONNECTIONS:
            return answer_connect(ReadRequest(self._cluster, target, query, form))
        _check_form(verb, form)
        if verb in READS:
            handler = SUBRESOURCE_READS.get((verb, target.subresource), READS[verb])
            return await handler(ReadRequest(self._cluster, target, query, form))
        if verb is Verb.DELETE_COLLECTION:
            return await answer_delete_collection(
                WriteRequest(self._cluster, request, target, user)
            )
        answer = await self._decided(_write_handler(verb, target), request, target, user)
        on_decided()
        return await answer()

    async def _compile(self, resource: Resource) -> None:
        """A large schema beside the event loop; all other kinds are compiled when they are read."""
        if isinstance(resource, CustomResource) and is_large_schema(resource):
            await self._cluster.work.run(resource.served.compile)

    async def _decided(
        self, handler: WriteHandler, request: Request, target: Target, user: User
    ) -> Callable[[], Awaitable[Answer]]:
        """What waits until the write is durable, and answers then."""
        kind, calls = kind_of(target.resource), WebhookCalls()
        stored = self._cluster.collection(kind).newest(target.key)
        aside = (
            is_heavy(request, kind, stored)
            or compares_rules(kind, user)
            or reads_much(self._cluster, kind, target)
            or is_uncounted(self._cluster, kind, target.namespace)
        )
        cluster = structs.replace(self._cluster, calls=calls)

        def decide(cluster: StoredCluster) -> AnswerWhenDurable:
            return _decide(handler, WriteRequest(cluster, request, target, user))

        try:
            if are_configured(cluster):
                aside = True
                seconds = seconds_for(Query(request).text("timeout"))
                answer = await decide_with_webhooks(cluster, decide, calls, seconds=seconds)
            elif aside:
                answer = await _decide_aside(cluster, decide, user)
            elif are_bound(cluster):
                answer = await _decide_by_policies(cluster, decide, user)
            else:
                answer = decide(cluster)
        except ApiError as error:
            # It may have been decided on changes that are not durable yet.
            await cluster.revisions.durable()
            error.annotations = tuple(calls.audit_annotations.items())
            raise

        async def answer_when_durable() -> Answer:
            await cluster.revisions.durable()
            made = await cluster.work.run(answer) if aside else answer()
            notes = tuple(calls.audit_annotations.items())
            return structs.replace(made, annotations=notes) if notes else made

        return answer_when_durable


Decide = Callable[[StoredCluster], AnswerWhenDurable]


async def _decide_by_policies(
    cluster: StoredCluster, decide: Decide, user: User
) -> AnswerWhenDurable:
    """On the event loop, unless the policies take too long for that."""
    try:
        return decide_briefly(cluster, decide)
    except PolicyTimeNeededError:
        return await _decide_aside(cluster, decide, user)


async def _decide_aside(cluster: StoredCluster, decide: Decide, user: User) -> AnswerWhenDurable:
    work = cluster.work
    async with work.writing(user.name):
        for _ in range(DRAFTS):
            draft = Draft(cluster.revisions)
            try:
                answer = await work.run(partial(decide, cluster.with_draft(draft)))
            except WebhookNeededError:
                break  # the first webhook was configured just now: the client asks again
            except ApiError:
                if draft.is_current():
                    raise
                continue
            if draft.commit():
                return answer
    raise too_busy()


def _write_handler(verb: Verb, target: Target) -> WriteHandler:
    # A Binding may also be created as a resource of its own.
    subresource = "binding" if target.resource.kind == "Binding" else target.subresource
    return SUBRESOURCE_WRITES.get((verb, subresource), WRITES[verb])


def _decide(handler: WriteHandler, request: WriteRequest) -> AnswerWhenDurable:
    """Stage what the request asks for. Raises ApiError, with the warnings that go with it."""
    try:
        request.need_definition()
        answer = handler(request)
        request.refresh_quotas()
        request.refresh_definitions()
    except ApiError as error:
        error.warnings = tuple(request.warnings)
        raise
    return answer


def _check_form(verb: Verb, form: AcceptedForm) -> None:
    match verb:
        case Verb.LIST | Verb.DELETE_COLLECTION:
            form.check_list()
        case Verb.WATCH:
            form.check_watch()
        case Verb.DELETE:
            pass  # The answer is mostly a Status, which has the same form for every client.
        case _:
            form.check_object()
