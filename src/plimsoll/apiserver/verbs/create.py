"""POST: a new object gets its identity, passes admission and validation, and is staged."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import user_info
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.admission.warnings.not_enforced import not_enforced
from plimsoll.apiserver.http.answers import json_answer
from plimsoll.apiserver.model.kinds import object_meta
from plimsoll.apiserver.model.kinds.access.certificate_signing_request import record_requester
from plimsoll.apiserver.model.ownership import tracking
from plimsoll.apiserver.model.status import already_exists, bad_request
from plimsoll.apiserver.storage.cluster import timestamp
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.verbs.rights.granting import check_grants
from plimsoll.apiserver.verbs.rights.reviews import Review
from plimsoll.apiserver.verbs.service_addresses import give_addresses
from plimsoll.apiserver.verbs.verb import Verb, not_served
from plimsoll.apiserver.verbs.write import (
    Write,
    check_namespace,
    refuse,
    set_managed_fields,
    store,
)
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest

GENERATED_NAME_TRIES = 8


def answer_create(request: WriteRequest) -> AnswerWhenDurable:
    """Answers 201 with the object, or with the review of what is only asked and never stored."""
    write = request.write("CreateOptions")
    if request.target.subresource:
        raise not_served(request.target)
    document = request.body(write.options)
    resource = request.target.resource
    if Verb.LIST not in resource.verbs:
        check_namespace(write, document["metadata"])
        reviewed = Review(
            cluster=request.cluster,
            user=request.user,
            namespace=request.target.namespace,
            document=document,
        ).answered(resource.kind)
        return lambda: json_answer(reviewed, 201)
    return request.shown(create(write, document), write.options, 201)


def create(
    write: Write, document: Document, *, managed_fields: list[Document] | None = None
) -> StoredRecord:
    """Stage a new object; `document` is typed. Raises ApiError.

    `managed_fields` come with an applied document; for others they are found out.
    """
    meta = document["metadata"]
    check_namespace(write, meta)
    is_applied = managed_fields is not None
    if meta.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    meta.pop("resourceVersion", None)
    key = _identify(write, document)
    write.options.warnings.extend(object_meta.drop_repeated_owners(meta))
    if managed_fields is None:
        managed_fields = tracking.track_create(write.endpoint, document, write.manager)
    set_managed_fields(meta, managed_fields)
    _admit_create(write, document)
    existing = write.cluster.collection(write.kind).newest(key)
    if existing is not None:
        deleting = "deletionTimestamp" in existing.document()["metadata"]
        raise already_exists(write.kind.resource, meta["name"], deleting=deleting)
    return store(write, key, document, None, keeps_owners=is_applied)


def _key(write: Write, meta: Document) -> str:
    name: str = meta.get("name", "")
    return f"{write.target.namespace}/{name}" if write.kind.resource.namespaced else name


def _identify(write: Write, document: Document) -> str:
    """Uid, time and, where only a prefix is given, a name that no object has; the new key."""
    meta = document["metadata"]
    given = meta.get("name", "")
    for _ in range(GENERATED_NAME_TRIES):
        if not given:
            meta.pop("name", None)
        object_meta.prepare_meta_create(
            meta,
            uid=write.cluster.ids.uid(),
            created=timestamp(write.now),
            suffix=write.cluster.ids.suffix(),
            namespace=write.target.namespace,
        )
        taken = write.cluster.collection(write.kind).newest(_key(write, meta)) is not None
        if given or not taken:
            break
    return _key(write, meta)


def _admit_create(write: Write, document: Document) -> None:
    rules, meta = write.kind.rules, document["metadata"]
    attributes = write.attributes(Operation.CREATE, document, None)
    write.cluster.admission.admit(attributes)
    give_addresses(write.cluster, write.kind, document, None)
    check_grants(write, document, None)
    if rules.has_generation:
        meta["generation"] = 1
    rules.prepare_create(document, write.now)
    if write.kind.resource.kind == "CertificateSigningRequest":
        record_requester(document, user_info(write.user))
    errors = [
        *object_meta.object_meta_errors(
            meta,
            "metadata",
            namespaced=write.kind.resource.namespaced,
            name_errors=rules.name_errors,
            plain_finalizers=rules.plain_finalizers,
        ),
        *rules.validate(document),
    ]
    refuse(write, document, errors)
    write.options.warnings.extend(rules.warnings(document, None))
    write.options.warnings.extend(not_enforced(write.kind.resource, document, None))
    write.cluster.admission.check(attributes)
