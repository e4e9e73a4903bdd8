"""The Scale of a workload: read, updated, patched or applied by way of the object behind it."""

from collections.abc import Callable
from typing import Any

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.model.custom import scale as custom_scale
from plimsoll.apiserver.model.kinds.workloads.scale import scale_of, scaled
from plimsoll.apiserver.model.ownership import scale_owners
from plimsoll.apiserver.model.ownership.endpoint import endpoint
from plimsoll.apiserver.model.ownership.entries import managed_fields, owners_of
from plimsoll.apiserver.model.ownership.tracking import track_update
from plimsoll.apiserver.storage.collection import StoredRecord, encode_raw
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, scale_kind
from plimsoll.apiserver.verbs import apply as applies
from plimsoll.apiserver.verbs.patch import RequestPatch, is_apply, patch_write
from plimsoll.apiserver.verbs.read import ReadRequest, get, record_answer
from plimsoll.apiserver.verbs.update import update
from plimsoll.apiserver.verbs.write import Write, check_place, newest, shown, typed
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest


async def answer_get_scale(request: ReadRequest) -> Answer:
    view = request.view(scale_kind())
    kind, workload = request.kind, get(request)
    if kind.custom is not None and kind.custom.scale is not None:
        custom_scale.check_is_set(kind.custom.scale, shown(kind, workload))
    return await record_answer(request, scale_record(kind, workload), view)


def answer_update_scale(request: WriteRequest) -> AnswerWhenDurable:
    write = request.write("UpdateOptions")
    scale = request.body(write.options, scale_kind())
    record = rescale(write, lambda _old: scale)
    return request.shown(record, write.options, kind=scale_kind())


def answer_patch_scale(request: WriteRequest) -> AnswerWhenDurable:
    write = patch_write(request)
    if is_apply(request):
        record = apply_scale(write, request.applied_body(write.options, scale_kind()))
    else:
        record = rescale(write, RequestPatch(request.request, scale_kind(), write.options))
    return request.shown(record, write.options, kind=scale_kind())


def scale_record(kind: ResourceKind, workload: StoredRecord) -> StoredRecord:
    """The Scale of a workload in the form in which objects are shown."""
    scale = _scale_of(kind, shown(kind, workload))
    return StoredRecord(workload.key, workload.revision, encode_raw(_untyped(scale)), {}, {})


def _scale_of(kind: ResourceKind, workload: Document) -> Document:
    if kind.custom is not None and kind.custom.scale is not None:
        return custom_scale.scale_of(kind.custom.scale, workload)
    return scale_of(workload)


def _scaled(kind: ResourceKind, workload: Document, scale: Document) -> Document:
    if kind.custom is not None and kind.custom.scale is not None:
        return custom_scale.scaled(kind.custom.scale, workload, scale)
    return scaled(workload, scale)


def _untyped(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}


def rescale(write: Write, change: Callable[[Document], Document]) -> StoredRecord:
    """Set the number of replicas, by way of the object that has them.

    `change` makes the wanted Scale, typed, from a copy of the current one.
    """

    def wanted(live: Document) -> tuple[Document, list[Document]]:
        scale = change(clone(live))
        at = endpoint(scale_kind().resource, write.target.subresource)
        return scale, track_update(at, scale, live, write.manager)

    return _rescaled(write, wanted)


def apply_scale(write: Write, wanted: Any) -> StoredRecord:
    """Server-side apply to a Scale."""
    kind = scale_kind()
    applies.check(kind, wanted)

    def applied(live: Document) -> tuple[Document, list[Document]]:
        at = endpoint(kind.resource, write.target.subresource)
        result = applies.applied(write, at, live, wanted)
        return typed(kind, result.document), result.managed_fields

    return _rescaled(write, applied)


def _rescaled(
    write: Write, change: Callable[[Document], tuple[Document, list[Document]]]
) -> StoredRecord:
    """`change` makes the new Scale and its owners; versions and rules are the workload's."""
    old = newest(write)
    workload = shown(write.kind, old)
    owners = owners_of(workload["metadata"].get("managedFields", ()))
    live = _scale_of(write.kind, workload)
    live["metadata"]["managedFields"] = managed_fields(scale_owners.of_scale(owners))
    scale, new_owners = change(live)
    check_place(write, scale["metadata"])
    version = write.kind.resource.api_version
    kept = scale_owners.of_workload(owners, owners_of(new_owners), version)
    new = _scaled(write.kind, workload, scale)
    return scale_record(write.kind, update(write, new, old, managed_fields=managed_fields(kept)))
