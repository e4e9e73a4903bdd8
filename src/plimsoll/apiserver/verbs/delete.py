"""DELETE: at once, after a grace period, or when no finalizer is left."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.http.answers import json_answer
from plimsoll.apiserver.http.negotiation import decode_body
from plimsoll.apiserver.model.custom.definition.conditions import mark_terminating
from plimsoll.apiserver.model.status import bad_request, conflict
from plimsoll.apiserver.storage.cluster import timestamp
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.definitions.definition_status import definitions_kind
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.verbs.options.delete_options import DeleteOptions, delete_options
from plimsoll.apiserver.verbs.options.write_options import RequestWriteOptions
from plimsoll.apiserver.verbs.verb import not_served
from plimsoll.apiserver.verbs.write import Write, newest
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


def answer_delete(request: WriteRequest) -> AnswerWhenDurable:
    """Answers with the object while it waits, and with a Status when it is gone."""
    options = requested_options(request)
    if request.target.subresource:
        raise not_served(request.target)
    write = deletion(request, options)
    deleted = delete(write, options)
    if not deleted.gone or request.kind.rules.returns_deleted:
        # Of all that waits, clients are told so only where they asked for it in the old way.
        accepted = not deleted.gone and options.orphan_dependents is False
        return request.shown(deleted.record, write.options, 202 if accepted else 200)
    return _gone_answer(write, deleted.record)


def requested_options(request: WriteRequest) -> DeleteOptions:
    body = decode_body(request.request) if request.request.body.strip() else None
    return delete_options(request.query, body)


def deletion(request: WriteRequest, options: DeleteOptions) -> Write:
    """The write, whose warnings become those of the request."""
    wanted = RequestWriteOptions(dry_run=options.dry_run, said=options.said())
    request.warnings = wanted.warnings
    return request.write_with(wanted)


def _gone_answer(write: Write, record: StoredRecord) -> AnswerWhenDurable:
    resource, meta = write.target.resource, record.document()["metadata"]
    details: Document = {"name": meta["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": meta["uid"]}
    done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return lambda: json_answer(done | {"details": details}, warnings=write.options.warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionOutcome:
    record: StoredRecord
    gone: bool
    """False when finalizers or a grace period keep the object for now."""


def delete(write: Write, options: DeleteOptions) -> DeletionOutcome:
    """Raises ApiError."""
    old = newest(write)
    document = old.document()
    check_preconditions(write, options, document["metadata"])
    write.cluster.admission.check(write.attributes(Operation.DELETE, document, None))
    if not options.propagation and options.orphan_dependents is None:
        _warn(write, write.kind.rules.deletion_warning)
    return delete_record(write, options, old)


def _warn(write: Write, text: str) -> None:
    """Once for a request, however many objects it deletes."""
    if text and text not in write.options.warnings:
        write.options.warnings.append(text)


def check_preconditions(write: Write, options: DeleteOptions, meta: Document) -> None:
    """Raises 409 for another object, or another version of it, than the client means."""
    # Refused by the storage, which knows events of either group by one name.
    resource = write.kind.stored.resource
    if options.uid and options.uid != meta["uid"]:
        raise conflict(
            resource,
            meta["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({meta['uid']}). The object might have been deleted and then recreated",
            by_kind=resource.kind != "Namespace",
        )
    if options.resource_version and options.resource_version != meta["resourceVersion"]:
        raise conflict(
            resource,
            meta["name"],
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({meta['resourceVersion']}). The object might have "
            "been modified",
            by_kind=resource.kind != "Namespace",
        )


def delete_record(write: Write, options: DeleteOptions, old: StoredRecord) -> DeletionOutcome:
    """Stage the deletion, whatever was to be checked before. Raises ApiError."""
    document = old.document()
    if write.kind.resource.kind == "Namespace":
        return _delete_namespace(write, options, old, document)
    if write.kind is definitions_kind() and "deletionTimestamp" not in document["metadata"]:
        mark_terminating(document, timestamp(write.now))
        return DeletionOutcome(record=_put(write, options, old, document), gone=False)
    step = _grace_step(write.kind, options, document, write.now)
    if step is GraceStep.PENDING:
        return DeletionOutcome(record=old, gone=False)
    meta = document["metadata"]
    finalizers = _wanted_finalizers(_dependents_policy(write.kind, options, meta), meta)
    _set_finalizers(meta, finalizers)
    if step is GraceStep.NONE and not finalizers:
        return _remove(write, options, old)
    if step is GraceStep.NONE:
        _mark_deleting(meta, write.now)
    record = _put(write, options, old, document)
    if finalizers or meta["deletionGracePeriodSeconds"] > 0:
        return DeletionOutcome(record=record, gone=False)
    if not options.dry_run:
        record = write.cluster.remove(write.kind, record)
    return DeletionOutcome(record=record, gone=True)


def _put(
    write: Write, options: DeleteOptions, old: StoredRecord, document: Document
) -> StoredRecord:
    if old.document() == document:
        return old
    if options.dry_run:
        return write.cluster.record(write.kind, old.key, document, old.revision)
    return write.cluster.put(write.kind, old.key, document)


def _remove(write: Write, options: DeleteOptions, old: StoredRecord) -> DeletionOutcome:
    if options.dry_run:
        return DeletionOutcome(record=old, gone=True)
    return DeletionOutcome(record=write.cluster.remove(write.kind, old), gone=True)


def _delete_namespace(
    write: Write, options: DeleteOptions, old: StoredRecord, document: Document
) -> DeletionOutcome:
    """A namespace goes when its content is gone and a controller has taken its spec.finalizers."""
    meta, spec = document["metadata"], document.setdefault("spec", {})
    if not spec.get("finalizers") and not meta.get("finalizers"):
        return _remove(write, options, old)
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = timestamp(write.now)
        document.setdefault("status", {})["phase"] = "Terminating"
        policy = _dependents_policy(write.kind, options, meta)
        if options.orphan_dependents is False:
            # For namespaces alone, the deprecated option means more than not to orphan.
            policy = "Foreground"
        _set_finalizers(meta, _wanted_finalizers(policy, meta))
    return DeletionOutcome(record=_put(write, options, old, document), gone=False)


class GraceStep(StrEnum):
    """What a grace period means for a deletion."""

    NONE = "none"
    PENDING = "pending"
    STARTED = "started"


def _grace_step(
    kind: ResourceKind, options: DeleteOptions, document: Document, now: datetime
) -> GraceStep:
    """Marks the document where a grace period begins or is shortened."""
    meta = document["metadata"]
    if "deletionTimestamp" in meta:
        return _shorten(options, meta)
    grace = _pod_grace(options, document) if kind.resource.kind == "Pod" else None
    if grace is None:
        return GraceStep.NONE
    meta["deletionTimestamp"] = _later(now, grace)
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1
    return GraceStep.STARTED


def _shorten(options: DeleteOptions, meta: Document) -> GraceStep:
    """An object on its way out may only be hurried up."""
    running = meta.get("deletionGracePeriodSeconds", 0)
    if not running:
        return GraceStep.NONE
    if options.grace_seconds is None or options.grace_seconds >= running:
        return GraceStep.PENDING
    asked = datetime.fromisoformat(meta["deletionTimestamp"]) - timedelta(seconds=running)
    meta["deletionTimestamp"] = _later(asked, options.grace_seconds)
    meta["deletionGracePeriodSeconds"] = options.grace_seconds
    return GraceStep.STARTED


def _later(moment: datetime, seconds: int) -> str:
    try:
        return timestamp(moment + timedelta(seconds=seconds))
    except OverflowError as error:
        raise bad_request(f"gracePeriodSeconds: {seconds} is further than time goes") from error


def _pod_grace(options: DeleteOptions, pod: Document) -> int:
    if options.grace_seconds is not None:
        period = options.grace_seconds
    else:
        period = pod["spec"].get("terminationGracePeriodSeconds") or 0
    unscheduled = not pod["spec"].get("nodeName")
    finished = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return 0 if unscheduled or finished else max(period, 0)


def _mark_deleting(meta: Document, now: datetime) -> None:
    if "deletionTimestamp" not in meta:
        if meta.get("generation"):
            meta["generation"] += 1
        meta["deletionTimestamp"] = timestamp(now)
    elif datetime.fromisoformat(meta["deletionTimestamp"]) > now:
        meta["deletionTimestamp"] = timestamp(now)
    meta["deletionGracePeriodSeconds"] = 0


def _dependents_policy(kind: ResourceKind, options: DeleteOptions, meta: Document) -> str:
    """What becomes of the objects that this one owns; empty: they are collected afterwards."""
    if not kind.rules.owns_others:
        return ""
    if options.orphan_dependents is not None:
        return "Orphan" if options.orphan_dependents else "Background"
    if options.propagation:
        return options.propagation
    current = meta.get("finalizers", ())
    if ORPHAN in current:
        return "Orphan"
    if FOREGROUND in current:
        return "Foreground"
    return "Orphan" if kind.rules.orphans_by_default else ""


def _wanted_finalizers(policy: str, meta: Document) -> list[str]:
    """The garbage collector's finalizers as the policy asks for them; all others stay."""
    wanted = [name for name in meta.get("finalizers", ()) if name not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        wanted.append(ORPHAN)
    elif policy == "Foreground":
        wanted.append(FOREGROUND)
    return wanted


def _set_finalizers(meta: Document, finalizers: list[str]) -> None:
    """In the order they have, unless others are wanted."""
    if set(finalizers) == set(meta.get("finalizers", ())):
        return
    meta["finalizers"] = finalizers
    if not finalizers:
        del meta["finalizers"]
