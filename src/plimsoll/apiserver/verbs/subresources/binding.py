"""POST of a Binding, below a pod or as a resource of its own: puts the pod on a node."""

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.http.answers import json_answer
from plimsoll.apiserver.http.negotiation import decode_body
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.kinds.pods.binding import bind, check_binding
from plimsoll.apiserver.model.status import bad_request, not_found
from plimsoll.apiserver.storage.resource_kinds import kind_of
from plimsoll.apiserver.verbs.write import Write, check_namespace, check_size
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest

BINDING = "io.k8s.api.core.v1.Binding"


def answer_create_binding(request: WriteRequest) -> AnswerWhenDurable:
    """Answers with a Status, as the real server does."""
    write = request.write("CreateOptions")
    done = create_binding(write, decode_body(request.request))
    return lambda: json_answer(done, 201, warnings=write.options.warnings)


def create_binding(write: Write, body: object) -> Document:
    """Stage the pod with its node; the Status that says so. Raises ApiError."""
    binding = _typed_binding(body)
    meta = binding.setdefault("metadata", {})
    name = write.target.name or meta.get("name", "")
    check_namespace(write, meta)
    check_binding(binding, name)
    pods = kind_of(resources_by_path()["", "v1", "pods"])
    key = f"{write.target.namespace}/{name}"
    record = write.cluster.collection(pods).newest(key)
    if record is None:
        raise not_found(pods.resource, name)
    meta.setdefault("name", name)
    attributes = write.attributes(Operation.CREATE, binding, None)
    write.cluster.admission.admit(attributes)
    write.cluster.admission.check(attributes)
    pod = bind(record.document(), binding, write.now)
    if not write.options.dry_run:
        bound = write.cluster.record(pods, key, pod, write.cluster.versions.next_revision)
        check_size(bound)
        write.cluster.stage(pods, bound)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _typed_binding(body: object) -> Document:
    try:
        return schema.round_trip(BINDING, {} if body is None else body).document
    except schema.SchemaError as error:
        raise bad_request(f"the body cannot be handled: {error}") from error
