"""Requests about resources: which handler answers, and the answer it makes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from http import HTTPStatus

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission import quota_status as quotas
from plimsoll.apiserver.http.answers import Answer, Stream, json_answer
from plimsoll.apiserver.http.identity import User
from plimsoll.apiserver.http.negotiation import (
    AcceptedForm,
    MediaForm,
    body_type,
    decode_applied,
    decode_body,
    is_slow_format,
    unsupported,
    wanted,
)
from plimsoll.apiserver.http.requests import Query, Target, method_not_allowed
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.printing.tables import IncludeObject
from plimsoll.apiserver.model.status import ApiError, bad_request
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.drafts import Draft
from plimsoll.apiserver.storage.heavy_work import HEAVY_BYTES, SLOW_FORMAT_BYTES, too_busy
from plimsoll.apiserver.storage.kinds_of import KindOf, kind_of, scale_kind
from plimsoll.apiserver.verbs import (
    apply as applies,
    delete as deletes,
    read as reads,
    write as writes,
)
from plimsoll.apiserver.verbs.delete_collection import delete_collection
from plimsoll.apiserver.verbs.options.selection import ObjectSelection
from plimsoll.apiserver.verbs.options.write_options import (
    APPLY,
    RequestWriteOptions,
    write_options,
)
from plimsoll.apiserver.verbs.patch import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    RequestPatch,
)
from plimsoll.apiserver.verbs.reviews import review
from plimsoll.apiserver.verbs.streaming import is_large, list_answer, nothing_to_close
from plimsoll.apiserver.verbs.subresources import scale as subresources
from plimsoll.apiserver.verbs.views import ObjectView
from plimsoll.apiserver.verbs.write import Write
from plimsoll.wire.transport import Request

PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY)
CUSTOM_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY)
IN_STREAM = (HTTPStatus.GONE, HTTPStatus.GATEWAY_TIMEOUT)
"""Watches from a revision that is forgotten, or not there yet."""
DRAFTS = 5
"""How often a large write is decided before others, which overtook it, may go first."""
PARTS = ("", "status", "approval")
"""Subresources that are a part of the object and answer with the whole of it."""


class ResourceRoutes:
    def __init__(self, cluster: StoredCluster) -> None:
        self._cluster = cluster

    async def answer(self, request: Request, target: Target, query: Query, user: User) -> Answer:
        verb = _verb(request, target, query)
        _check_verb(verb, target)
        if verb in ("get", "list", "watch"):
            return await self._read(verb, request, target, query)
        _check_form(verb, wanted(request))
        if verb == "deletecollection":
            return await _Call(self._cluster, request, target, user).deletecollection()
        is_heavy = self._is_heavy(request, target)
        try:
            if is_heavy:
                answer = await self._decide_aside(verb, request, target, user)
            else:
                answer = _decide(_Call(self._cluster, request, target, user), verb)
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
        self, verb: str, request: Request, target: Target, user: User
    ) -> "Later":
        work = self._cluster.work
        async with work.writing():
            for _ in range(DRAFTS):
                draft = Draft(self._cluster.revisions)
                call = _Call(self._cluster.with_draft(draft), request, target, user)
                try:
                    answer = await work.run(partial(_decide, call, verb))
                except ApiError:
                    if draft.is_current():
                        raise
                    continue
                if draft.commit():
                    return answer
        raise too_busy()

    async def _read(self, verb: str, request: Request, target: Target, query: Query) -> Answer:
        kind = kind_of(target.resource)
        form = wanted(request)
        _check_form(verb, form)
        shown = scale_kind() if target.subresource == "scale" else kind
        view = ObjectView(shown, form, include_object(query, form))
        if verb == "get":
            return await self._get(kind, target, query, view)
        selection = ObjectSelection(kind, target, query)
        if verb == "watch":
            return self._watch(kind, query, selection, view)
        return await self._list(kind, query, selection, view)

    async def _list(
        self, kind: KindOf, query: Query, selection: ObjectSelection, view: ObjectView
    ) -> Answer:
        cluster = self._cluster
        request = reads.list_request(cluster, kind, query, selection)
        page = await cluster.work.run(request.page) if request.is_heavy else request.page()
        return list_answer(cluster, view, page)

    async def _get(self, kind: KindOf, target: Target, query: Query, view: ObjectView) -> Answer:
        if target.subresource not in (*PARTS, "scale"):
            raise _not_served(target)
        record = reads.get(self._cluster, kind, target, query)
        if target.subresource == "scale":
            record = subresources.scale_record(kind, record)
        show = partial(view.object, record, self._cluster.clock.now())
        is_heavy = view.is_slow and is_large([record], SLOW_FORMAT_BYTES)
        body = await self._cluster.work.run(show) if is_heavy else show()
        return Answer(body=body, content_type=view.content_type)

    def _watch(
        self, kind: KindOf, query: Query, selection: ObjectSelection, view: ObjectView
    ) -> Answer:
        try:
            request = reads.watch_request(
                self._cluster, query, kind=kind, selection=selection, view=view
            )
        except ApiError as error:
            if error.code not in IN_STREAM:
                raise
            # Clients look for these in the stream; as the answer itself, some of them take it
            # for a mishap and ask again for ever.
            told = Stream(
                chunks=_only(reads.expired_event(error)),
                close=nothing_to_close,
                overflow=asyncio.Event(),
            )
            return Answer(stream=told, content_type=view.content_type)
        watch = reads.OpenWatch(self._cluster, request)
        stream = Stream(
            chunks=watch.chunks(),
            close=watch.close,
            overflow=watch.watcher.overflow,
        )
        return Answer(stream=stream, content_type=view.content_type)


async def _only(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


def _verb(request: Request, target: Target, query: Query) -> str:
    match request.method:
        case "GET":
            if target.watch or (not target.name and query.boolean("watch")):
                return "watch"
            return "get" if target.name else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "delete" if target.name else "deletecollection"
        case _:
            raise method_not_allowed()


def _check_verb(verb: str, target: Target) -> None:
    """Known verbs only, and only where they have a meaning."""
    resource = target.resource
    if target.subresource:
        subresource = resource.subresource(target.subresource)
        verbs: tuple[str, ...] = subresource.verbs if subresource is not None else ()
    else:
        verbs = resource.verbs
    if verb not in verbs:
        raise method_not_allowed()
    if verb == "create" and not target.subresource:
        named = bool(target.name)
        homeless = resource.namespaced and not target.namespace
        if named or homeless:
            raise method_not_allowed()
    if verb in ("update", "patch") and not target.name:
        raise method_not_allowed()
    if verb == "deletecollection" and resource.namespaced and not target.namespace:
        raise method_not_allowed()


def _check_form(verb: str, form: AcceptedForm) -> None:
    match verb:
        case "list" | "deletecollection":
            form.check_list()
        case "watch":
            form.check_watch()
        case "delete":
            pass  # Mostly a Status, which has the same form for everybody.
        case _:
            form.check_object()


def include_object(query: Query, form: AcceptedForm) -> IncludeObject:
    """How much of each object a table carries."""
    match query.text("includeObject"):
        case "":
            return "Metadata"
        case "Metadata" | "None" | "Object" as known:
            return known
        case other if form.form is MediaForm.TABLE:
            raise bad_request(
                f'includeObject: Invalid value: "{other}": must be Metadata, Object, None or empty'
            )
        case _:
            return "Metadata"


def _not_served(target: Target) -> ApiError:
    return ApiError(
        404,
        "NotFound",
        f"{target.resource.plural}/{target.subresource} is not served by the embedded API server",
        {},
    )


Later = Callable[[], Answer]
"""Makes the answer once the change is durable."""


def _decide(call: "_Call", verb: str) -> Later:
    """Stage what the request asks for. Raises ApiError, with the warnings that go with it."""
    try:
        answer: Later = getattr(call, verb)()
        call.refresh_quotas()
    except ApiError as error:
        error.warnings = tuple(call.warnings)
        raise
    return answer


class _Call:
    """One write request on its way through; a method for each verb."""

    def __init__(
        self,
        cluster: StoredCluster,
        request: Request,
        target: Target,
        user: User,
    ) -> None:
        self._cluster = cluster
        self._request = request
        self._target = target
        self._query = Query(request)
        self._user = user
        self._kind = kind_of(target.resource)
        self.form = wanted(request)
        self.warnings: list[str] = []

    def refresh_quotas(self) -> None:
        quotas.refresh(self._cluster, self._target.namespace)

    def _write(self, options_kind: str) -> Write:
        options = write_options(
            self._query,
            options_kind,
            media_type=body_type(self._request),
            user_agent=self._request.headers.get("user-agent", ""),
        )
        self.warnings = options.warnings
        return self._with_options(options)

    def _with_options(self, options: RequestWriteOptions) -> Write:
        return Write(
            cluster=self._cluster,
            kind=self._kind,
            target=self._target,
            options=options,
            user=self._user.name,
        )

    def _body(self, options: RequestWriteOptions, kind: KindOf | None = None) -> Document:
        """The typed body; complaints about it go where the options say."""
        kind = kind or self._kind
        raw = decode_body(self._request)
        complaints: list[str] = []
        if body_type(self._request) in ("", "application/json"):
            complaints += schema.duplicate_fields(self._request.body, kind.schema)
        document = writes.typed(kind, raw, complaints=complaints)
        options.complain(complaints)
        return document

    def _shown(
        self, record: StoredRecord, options: RequestWriteOptions, status: int = 200
    ) -> Later:
        view = ObjectView(self._kind, self.form, include_object(self._query, self.form))
        return self._viewed(view, record, options, status)

    def _shown_scale(self, record: StoredRecord, options: RequestWriteOptions) -> Later:
        view = ObjectView(scale_kind(), self.form, include_object(self._query, self.form))
        return self._viewed(view, record, options, 200)

    def _viewed(
        self, view: ObjectView, record: StoredRecord, options: RequestWriteOptions, status: int
    ) -> Later:
        now = self._cluster.clock.now()
        return lambda: Answer(
            status=status,
            body=view.object(record, now),
            content_type=view.content_type,
            warnings=tuple(dict.fromkeys(options.warnings)),
        )

    def create(self) -> Later:
        write = self._write("CreateOptions")
        if self._target.subresource == "binding" or self._target.resource.kind == "Binding":
            return self._create_binding(write)
        if self._target.subresource:
            raise _not_served(self._target)
        document = self._body(write.options)
        if "list" not in self._target.resource.verbs:
            reviewed = review(self._target.resource.kind, document, self._user)
            return lambda: json_answer(reviewed, 201)
        return self._shown(writes.create(write, document), write.options, 201)

    def _create_binding(self, write: Write) -> Later:
        done = subresources.create_binding(write, decode_body(self._request))
        return lambda: json_answer(done, 201)

    def update(self) -> Later:
        write = self._write("UpdateOptions")
        if self._target.subresource == "scale":
            scale = self._body(write.options, scale_kind())
            record = subresources.rescale(write, lambda _old: scale)
            return self._shown_scale(record, write.options)
        document = self._body(write.options)
        if self._target.subresource == "finalize":
            return self._shown(subresources.finalize_namespace(write, document), write.options)
        if self._target.subresource not in PARTS:
            raise _not_served(self._target)
        record, is_new = writes.replace(write, document)
        return self._shown(record, write.options, 201 if is_new else 200)

    def patch(self) -> Later:
        media_type = body_type(self._request)
        taken = CUSTOM_PATCH_TYPES if self._kind.rules.is_custom else PATCH_TYPES
        if media_type not in taken:
            raise unsupported(media_type, taken)
        write = self._write("PatchOptions")
        if media_type == APPLY:
            return self._apply(write)
        if self._target.subresource == "scale":
            change = RequestPatch(self._request, scale_kind(), write.options)
            return self._shown_scale(subresources.rescale(write, change), write.options)
        if self._target.subresource not in PARTS:
            raise _not_served(self._target)
        change = RequestPatch(self._request, self._kind, write.options)
        return self._shown(writes.patch(write, change), write.options)

    def _apply(self, write: Write) -> Later:
        if self._target.subresource not in (*PARTS, "scale"):
            raise _not_served(self._target)
        body = self._request.body
        wanted = decode_applied(body)
        kind = scale_kind() if self._target.subresource == "scale" else self._kind
        if body.lstrip().startswith(b"{"):
            write.options.complain(schema.duplicate_fields(body, kind.schema))
        if self._target.subresource == "scale":
            return self._shown_scale(subresources.apply_scale(write, wanted), write.options)
        record, is_new = applies.apply(write, wanted)
        return self._shown(record, write.options, 201 if is_new else 200)

    def _delete_options(self) -> deletes.DeleteOptions:
        body = decode_body(self._request) if self._request.body.strip() else None
        return deletes.delete_options(self._query, body)

    def _deleting(self, options: deletes.DeleteOptions) -> Write:
        return self._with_options(RequestWriteOptions(dry_run=options.dry_run))

    def delete(self) -> Later:
        options = self._delete_options()
        if self._target.subresource:
            raise _not_served(self._target)
        write = self._deleting(options)
        deleted = deletes.delete(write, options)
        if not deleted.gone or self._kind.rules.returns_deleted:
            # Of all that waits, clients are told so only where they asked for it in the old way.
            accepted = not deleted.gone and options.orphan_dependents is False
            return self._shown(deleted.record, write.options, 202 if accepted else 200)
        meta = deleted.record.document()["metadata"]
        details: Document = {"name": meta["name"]}
        if self._target.resource.group:
            details["group"] = self._target.resource.group
        details |= {"kind": self._target.resource.plural, "uid": meta["uid"]}
        done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return lambda: json_answer(done | {"details": details})

    async def deletecollection(self) -> Answer:
        options = self._delete_options()
        selection = ObjectSelection(self._kind, self._target, self._query)
        view = ObjectView(self._kind, self.form, include_object(self._query, self.form))
        return await delete_collection(self._deleting(options), options, selection, view)
