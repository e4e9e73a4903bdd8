"""POST of an Eviction: ends a pod if its disruption budget allows that.

Budget and pod change in one step, so that no other eviction comes in between: there are no
conflicts to be retried, and a refused eviction has changed nothing.
"""

from functools import cache

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.http.answers import json_answer
from plimsoll.apiserver.http.negotiation import decode_body
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.policy.eviction import spent_budget, with_disruption_target
from plimsoll.apiserver.model.ownership.endpoint import endpoint
from plimsoll.apiserver.model.ownership.tracking import Manager, track_update
from plimsoll.apiserver.model.status import bad_request, invalid
from plimsoll.apiserver.storage.cluster import timestamp
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of
from plimsoll.apiserver.verbs.delete import check_preconditions, delete_record
from plimsoll.apiserver.verbs.options.delete_options import DeleteOptions, read_options
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions
from plimsoll.apiserver.verbs.write import (
    Write,
    check_namespace,
    newest,
    set_managed_fields,
    shown,
)
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest

EVICTION = "io.k8s.api.policy.v1.Eviction"
VERSIONS = ("policy/v1", "policy/v1beta1")
SERVER = "kube-apiserver"
"""Owns what the server itself writes into a budget."""
UNREADABLE = "ignoreStoreReadErrorWithClusterBreakingPotential"
DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def answer_create_eviction(request: WriteRequest) -> AnswerWhenDurable:
    """Answers with a Status, as the real server does."""
    asked = request.write("CreateOptions")
    eviction = _typed_eviction(decode_body(request.request))
    options = _checked_options(eviction, asked)
    wanted = RequestWriteOptions(dry_run=options.dry_run)
    request.warnings = wanted.warnings
    write = request.write_with(wanted)
    attributes = write.attributes(Operation.CREATE, eviction, None)
    write.cluster.admission.admit(attributes)
    write.cluster.admission.check(attributes)
    evict(write, options)
    return lambda: json_answer(DONE, 201, warnings=wanted.warnings)


def evict(write: Write, options: DeleteOptions) -> None:
    """Stage the end of the pod, and the budget that it costs. Raises ApiError."""
    pod = newest(write)
    check_preconditions(write, options, pod.document()["metadata"])
    known = write.cluster.collection(_budgets()).newest_records(f"{write.target.namespace}/")
    records = {record.key: record for record in known}
    budgets = [shown(_budgets(), record) for record in records.values()]
    budget = spent_budget(pod.document(), budgets, write.now)
    if options.dry_run:
        delete_record(write, options, pod)
        return
    if budget is not None:
        key = f"{write.target.namespace}/{budget['metadata']['name']}"
        _store_budget(write, budget, records[key])
    delete_record(write, options, _marked(write, pod))


def _marked(write: Write, pod: StoredRecord) -> StoredRecord:
    marked = with_disruption_target(pod.document(), write.now)
    return pod if marked == pod.document() else write.cluster.put(write.kind, pod.key, marked)


def _store_budget(write: Write, budget: Document, old: StoredRecord) -> None:
    kind = _budgets()
    owners = track_update(
        endpoint(kind.resource, "status"),
        budget,
        shown(kind, old),
        Manager(SERVER, timestamp(write.now)),
    )
    set_managed_fields(budget["metadata"], owners)
    write.cluster.put(kind, old.key, budget)


@cache
def _budgets() -> ResourceKind:
    return kind_of(resources_by_path()["policy", "v1", "poddisruptionbudgets"])


def _typed_eviction(body: object) -> Document:
    body = {} if body is None else body
    if not isinstance(body, dict):
        raise bad_request("the body must be an object")
    kind, version = body.get("kind") or "Eviction", body.get("apiVersion") or VERSIONS[0]
    if kind != "Eviction" or version not in VERSIONS:
        raise bad_request(f"{kind} in version {version!r} cannot be handled as an Eviction")
    try:
        eviction: Document = schema.round_trip(EVICTION, body).document
    except schema.SchemaError as error:
        raise bad_request(f"the body cannot be handled as an Eviction: {error}") from error
    eviction.setdefault("metadata", {})
    return eviction


def _checked_options(eviction: Document, asked: Write) -> DeleteOptions:
    """How the pod is to be deleted. Raises ApiError."""
    name = asked.target.name
    check_namespace(asked, eviction["metadata"])
    if eviction["metadata"].get("name", "") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    given = eviction.get("deleteOptions") or {}
    if given.get(UNREADABLE):
        error = FieldError.invalid(
            f"deleteOptions.{UNREADABLE}",
            True,
            "can not be set for pod eviction, try after removing the option",
        )
        raise invalid("policy", "Eviction", name, [error])
    dry_run = {"dryRun": ["All"]} if asked.options.dry_run else {}
    return read_options(given | dry_run)
