"""Endpoints below an object that are more than a part of it: binding, scale, finalize."""

from collections.abc import Callable
from typing import Any

from plimsoll.api import schema
from plimsoll.api.kinds.pods.binding import bind, check_binding
from plimsoll.api.kinds.workloads.scale import scale_of, scaled
from plimsoll.api.ownership.tracking import track_update
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.api.status import bad_request, not_found
from plimsoll.processes.apiserver import deletes, writes
from plimsoll.processes.apiserver.cluster import Cluster
from plimsoll.processes.apiserver.collection import Record
from plimsoll.processes.apiserver.kinds_of import KindOf, kind_of
from plimsoll.processes.apiserver.requests import Target
from plimsoll.processes.apiserver.writes import Write

BINDING = "io.k8s.api.core.v1.Binding"
SCALE = "io.k8s.api.autoscaling.v1.Scale"


def _typed(name: str, body: Any) -> Document:
    try:
        return schema.round_trip(name, {} if body is None else body).document
    except schema.SchemaError as error:
        raise bad_request(f"the body cannot be handled: {error}") from error


def _newest(write: Write) -> Record:
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
    pod = bind(record.document(), binding, write.now)
    if not write.options.dry_run:
        write.cluster.put(pods, key, pod)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def get_scale(cluster: Cluster, kind: KindOf, target: Target) -> Document:
    record = cluster.collection(kind).get(target.key)
    if record is None:
        raise not_found(kind.resource, target.name)
    return scale_of(writes.shown(kind, record))


def put_scale(write: Write, body: Any) -> Document:
    """Set the number of replicas, by way of the object that has them."""
    return _rescale(write, lambda _old: body)


def patch_scale(write: Write, apply: Callable[[Document], Document]) -> Document:
    return _rescale(write, apply)


def _rescale(write: Write, apply: Callable[[Document], Any]) -> Document:
    old = _newest(write)
    owner = writes.shown(write.kind, old)
    wanted = scaled(owner, _typed(SCALE, apply(scale_of(owner))))
    # Versions and rules are those of the object that is scaled.
    record = writes.update(write, wanted, old, patched=True)
    return scale_of(writes.shown(write.kind, record))


def finalize_namespace(write: Write, body: Document) -> Record:
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
    managed_fields = track_update(write.endpoint, namespace, old.document(), write.manager)
    if managed_fields:
        namespace["metadata"]["managedFields"] = managed_fields
    return writes.store(write, old.key, namespace, old)
