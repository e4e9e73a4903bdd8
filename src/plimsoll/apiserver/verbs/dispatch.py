"""Requests about resources: the verb finds its handler, and the handler makes the answer.

Readers are answered from durable state. A write is decided without waiting and answered once it
is durable; a large one is decided beside the event loop, on a draft.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.http.identity import User
from plimsoll.apiserver.http.negotiation import AcceptedForm, body_type, is_slow_format, wanted
from plimsoll.apiserver.http.requests import Query, Target
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.drafts import Draft
from plimsoll.apiserver.storage.heavy_work import HEAVY_BYTES, SLOW_FORMAT_BYTES, too_busy
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.verbs.create import answer_create
from plimsoll.apiserver.verbs.delete import answer_delete
from plimsoll.apiserver.verbs.delete_collection import answer_delete_collection
from plimsoll.apiserver.verbs.patch import answer_patch
from plimsoll.apiserver.verbs.read import ReadRequest, answer_get, answer_list
from plimsoll.apiserver.verbs.subresources.binding import answer_create_binding
from plimsoll.apiserver.verbs.subresources.finalize import answer_finalize
from plimsoll.apiserver.verbs.subresources.scale import (
    answer_get_scale,
    answer_patch_scale,
    answer_update_scale,
)
from plimsoll.apiserver.verbs.update import answer_update
from plimsoll.apiserver.verbs.verb import Verb, check_verb, verb_of
from plimsoll.apiserver.verbs.watch import answer_watch
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
    (Verb.UPDATE, "finalize"): answer_finalize,
    (Verb.UPDATE, "scale"): answer_update_scale,
    (Verb.PATCH, "scale"): answer_patch_scale,
}
"""Subresources that are more than a part of their object have handlers of their own."""


class ResourceRoutes:
    """Answers every request whose path names a resource."""

    def __init__(self, cluster: StoredCluster) -> None:
        self._cluster = cluster

    async def answer(self, request: Request, target: Target, query: Query, user: User) -> Answer:
        """Raises ApiError."""
        verb = verb_of(request, target, query)
        check_verb(verb, target)
        form = wanted(request)
        _check_form(verb, form)
        if verb in READS:
            handler = SUBRESOURCE_READS.get((verb, target.subresource), READS[verb])
            return await handler(ReadRequest(self._cluster, target, query, form))
        if verb is Verb.DELETE_COLLECTION:
            return await answer_delete_collection(
                WriteRequest(self._cluster, request, target, user)
            )
        return await self._write(_write_handler(verb, target), request, target, user)

    async def _write(
        self, handler: WriteHandler, request: Request, target: Target, user: User
    ) -> Answer:
        is_heavy = self._is_heavy(request, target)
        try:
            if is_heavy:
                answer = await self._decide_aside(handler, request, target, user)
            else:
                answer = _decide(handler, WriteRequest(self._cluster, request, target, user))
        except ApiError:
            # It may have been decided on changes that are not durable yet.
            await self._cluster.revisions.durable()
            raise
        await self._cluster.revisions.durable()
        return await self._cluster.work.run(answer) if is_heavy else answer()

    def _is_heavy(self, request: Request, target: Target) -> bool:
        """What the request brings and what is stored would take the event loop too long."""
        limit = SLOW_FORMAT_BYTES if is_slow_format(body_type(request)) else HEAVY_BYTES
        stored = self._cluster.collection(kind_of(target.resource)).newest(target.key)
        return len(request.body) + (0 if stored is None else len(stored.raw)) > limit

    async def _decide_aside(
        self, handler: WriteHandler, request: Request, target: Target, user: User
    ) -> AnswerWhenDurable:
        work = self._cluster.work
        async with work.writing():
            for _ in range(DRAFTS):
                draft = Draft(self._cluster.revisions)
                drafted = WriteRequest(self._cluster.with_draft(draft), request, target, user)
                try:
                    answer = await work.run(partial(_decide, handler, drafted))
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
        answer = handler(request)
        request.refresh_quotas()
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
