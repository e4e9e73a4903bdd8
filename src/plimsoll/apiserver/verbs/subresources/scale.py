"""Endpoints below an object that are more than a part of it: binding, scale, finalize."""

from collections.abc import Callable
from typing import Any

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.kinds.pods.binding import bind, check_binding
from plimsoll.apiserver.model.kinds.workloads.scale import scale_of, scaled
from plimsoll.apiserver.model.ownership import scale_owners
from plimsoll.apiserver.model.ownership.endpoint import endpoint
from plimsoll.apiserver.model.ownership.entries import managed_fields, owners_of
from plimsoll.apiserver.model.ownership.tracking import track_update
from plimsoll.apiserver.model.status import bad_request, not_found
from plimsoll.apiserver.storage.collection import StoredRecord, encode_raw
from plimsoll.apiserver.storage.kinds_of import KindOf, kind_of, scale_kind
from plimsoll.apiserver.verbs import apply as applies, delete as deletes, write as writes
from plimsoll.apiserver.verbs.write import Write

BINDING = "io.k8s.api.core.v1.Binding"


def _typed(name: str, body: Any) -> Document:
    try:
        return schema.round_trip(name, {} if body is None else body).document
    except schema.SchemaError as error:
        raise bad_request(f"the body cannot be handled: {error}") from error


def _newest(write: Write) -> StoredRecord:
    record = write.cluster.collection(write.kind).newest(write.target.key)
    if record is None:
        raise not_found(write.kind.resource, write.target.name)
    return record


def create_binding(write: Write, body: Any) -> Document:
    """Bind a pod to a node; answers with a Status as the real server does."""
    binding = _typed(BINDING, body)
    name = write.target.name or binding.get("metadata", {}).get("name", "")
    check_binding(binding, name)
    pods = kind_of(resources_by_path()["", "v1", "pods"])
    key = f"{write.target.namespace}/{name}"
    record = write.cluster.collection(pods).newest(key)
    if record is None:
        raise not_found(pods.resource, name)
    binding.setdefault("metadata", {})
    write.cluster.admission.admit(write.attributes(Operation.CREATE, binding, None))
    pod = bind(record.document(), binding, write.now)
    if not write.options.dry_run:
        write.cluster.put(pods, key, pod)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def scale_record(kind: KindOf, workload: StoredRecord) -> StoredRecord:
    """The Scale of a workload in the form in which objects are shown."""
    scale = scale_of(writes.shown(kind, workload))
    return StoredRecord(workload.key, workload.revision, encode_raw(_untyped(scale)), {}, {})


def _untyped(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}


def rescale(write: Write, change: Callable[[Document], Document]) -> StoredRecord:
    """Set the number of replicas, by way of the object that has them.

    `change` makes the wanted Scale, typed, from the current one.
    """

    def wanted(live: Document) -> tuple[Document, list[Document]]:
        scale = change(live)
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
        return writes.typed(kind, result.document), result.managed_fields

    return _rescaled(write, applied)


def _rescaled(
    write: Write, change: Callable[[Document], tuple[Document, list[Document]]]
) -> StoredRecord:
    """`change` makes the new Scale and its owners; versions and rules are the workload's."""
    old = _newest(write)
    workload = writes.shown(write.kind, old)
    owners = owners_of(workload["metadata"].get("managedFields", ()))
    live = scale_of(workload)
    live["metadata"]["managedFields"] = managed_fields(scale_owners.of_scale(owners))
    scale, new_owners = change(live)
    writes.check_place(write, scale["metadata"])
    version = write.kind.resource.api_version
    kept = scale_owners.of_workload(owners, owners_of(new_owners), version)
    new = scaled(workload, scale)
    return scale_record(
        write.kind, writes.update(write, new, old, managed_fields=managed_fields(kept))
    )


def finalize_namespace(write: Write, body: Document) -> StoredRecord:
    """Take or set spec.finalizers, which nothing else can change."""
    old = _newest(write)
    namespace = old.document()
    wanted = body.get("spec", {}).get("finalizers", [])
    spec = namespace.setdefault("spec", {})
    spec["finalizers"] = wanted
    if not wanted:
        del spec["finalizers"]
    writes.check_version(write, body, old)
    if deletes.is_finished(write.kind, namespace, old.document()):
        return writes.finish(write, namespace, old)
    if namespace == old.document():
        return old
    owners = track_update(write.endpoint, namespace, old.document(), write.manager)
    if owners:
        namespace["metadata"]["managedFields"] = owners
    return writes.store(write, old.key, namespace, old)
