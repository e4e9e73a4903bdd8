"""PUT of namespaces/finalize: takes or sets spec.finalizers, which no other write can change."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.model.kinds.cluster.namespace import validate_finalize
from plimsoll.apiserver.model.ownership.tracking import track_update
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.verbs.update import check_version, finish, is_finished
from plimsoll.apiserver.verbs.write import Write, check_place, newest, refuse, store
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest


def answer_finalize(request: WriteRequest) -> AnswerWhenDurable:
    write = request.write("UpdateOptions")
    namespace = request.body(write.options)
    return request.shown(finalize_namespace(write, namespace), write.options)


def finalize_namespace(write: Write, body: Document) -> StoredRecord:
    """Only the finalizers of the body count. Raises ApiError."""
    check_place(write, body["metadata"])
    old = newest(write)
    namespace = old.document()
    wanted = body.get("spec", {}).get("finalizers", [])
    spec = namespace.setdefault("spec", {})
    spec["finalizers"] = wanted
    if not wanted:
        del spec["finalizers"]
    check_version(write, body, old)
    attributes = write.attributes(Operation.UPDATE, namespace, old.document())
    write.cluster.admission.admit(attributes)
    refuse(write, namespace, [*validate_finalize(namespace)])
    write.cluster.admission.check(attributes)
    if is_finished(write.kind, namespace, old.document()):
        return finish(write, namespace, old)
    if namespace == old.document():
        return old
    owners = track_update(write.endpoint, namespace, old.document(), write.manager)
    if owners:
        namespace["metadata"]["managedFields"] = owners
    return store(write, old.key, namespace, old)
