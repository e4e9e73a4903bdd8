"""DELETE and deletecollection: at once, after a grace period, or when no finalizer is left."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.http.requests import Query
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import bad_request, conflict, invalid, not_found
from plimsoll.apiserver.storage.cluster import timestamp
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.kinds_of import KindOf, stored_kind

if TYPE_CHECKING:
    from plimsoll.apiserver.verbs.write import Write

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
POLICIES = ("Background", "Foreground", "Orphan")
DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    grace_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""
    orphan_dependents: bool | None = None
    propagation: str = ""
    dry_run: bool = False


def delete_options(query: Query, body: object) -> DeleteOptions:
    """From the body, or from the query where there is no body."""
    given = _typed_options(body)
    source = given or _from_query(query)
    if query.all("dryRun"):
        source = source | {"dryRun": query.all("dryRun")}
    errors = list(_option_errors(source))
    if errors:
        raise invalid("meta.k8s.io", "DeleteOptions", "", errors)
    preconditions = source.get("preconditions") or {}
    grace = source.get("gracePeriodSeconds")
    return DeleteOptions(
        # A negative grace period means: at once, but not less than that.
        grace_seconds=1 if grace is not None and grace < 0 else grace,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        orphan_dependents=source.get("orphanDependents"),
        propagation=source.get("propagationPolicy") or "",
        dry_run="All" in source.get("dryRun", ()),
    )


def _typed_options(body: object) -> Document:
    if body is None:
        return {}
    if isinstance(body, dict) and body.get("kind") not in (None, "", "DeleteOptions"):
        raise bad_request(f"no kind {body['kind']!r} is known here: expected DeleteOptions")
    try:
        return schema.round_trip(DELETE_OPTIONS, body).document
    except schema.SchemaError as error:
        raise bad_request(f"the body is not a DeleteOptions: {error}") from error


def _from_query(query: Query) -> Document:
    options: Document = {}
    grace = query.integer("gracePeriodSeconds")
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if query.has("orphanDependents"):
        options["orphanDependents"] = query.boolean("orphanDependents")
    if query.text("propagationPolicy"):
        options["propagationPolicy"] = query.text("propagationPolicy")
    return options


def _option_errors(options: Document) -> Iterator[FieldError]:
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        yield FieldError.invalid(
            "propagationPolicy",
            policy,
            "orphanDependents and deletionPropagation cannot be both set",
        )
    if policy and policy not in POLICIES:
        yield FieldError.not_supported("propagationPolicy", policy, POLICIES)
    for value in options.get("dryRun", ()):
        if value != "All":
            yield FieldError.not_supported("dryRun", value, ("All",))


def is_finished(kind: KindOf, new: Document, old: Document) -> bool:
    """The update takes the last finalizer from an object that only waited for that."""
    meta = new["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if kind.resource.kind == "Namespace" and new.get("spec", {}).get("finalizers"):
        return False
    waited = bool(old["metadata"].get("finalizers")) or kind.resource.kind == "Namespace"
    return waited and not meta.get("deletionGracePeriodSeconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionOutcome:
    record: StoredRecord
    gone: bool
    """False when finalizers or a grace period keep the object for now."""


def delete(write: "Write", options: DeleteOptions) -> DeletionOutcome:
    """Raises ApiError."""
    old = write.cluster.collection(write.kind).newest(write.target.key)
    if old is None:
        raise not_found(write.kind.resource, write.target.name)
    document = old.document()
    _check_preconditions(write, options, document["metadata"])
    write.cluster.admission.check(write.attributes(Operation.DELETE, document, None))
    if not options.propagation and options.orphan_dependents is None:
        _warn(write, write.kind.rules.deletion_warning)
    return _delete(write, options, old, document)


def _warn(write: "Write", text: str) -> None:
    """Once for a request, however many objects it deletes."""
    if text and text not in write.options.warnings:
        write.options.warnings.append(text)


def _check_preconditions(write: "Write", options: DeleteOptions, meta: Document) -> None:
    # Refused by the storage, which knows events of either group by one name.
    resource = stored_kind(write.kind.collection).resource
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


def _delete(
    write: "Write", options: DeleteOptions, old: StoredRecord, document: Document
) -> DeletionOutcome:
    if write.kind.resource.kind == "Namespace":
        return _delete_namespace(write, options, old, document)
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
    write: "Write", options: DeleteOptions, old: StoredRecord, document: Document
) -> StoredRecord:
    if old.document() == document:
        return old
    if options.dry_run:
        return write.cluster.record(write.kind, old.key, document, old.revision)
    return write.cluster.put(write.kind, old.key, document)


def _remove(write: "Write", options: DeleteOptions, old: StoredRecord) -> DeletionOutcome:
    if options.dry_run:
        return DeletionOutcome(record=old, gone=True)
    return DeletionOutcome(record=write.cluster.remove(write.kind, old), gone=True)


def _delete_namespace(
    write: "Write", options: DeleteOptions, old: StoredRecord, document: Document
) -> DeletionOutcome:
    """A namespace goes when its content is gone and somebody has taken its spec.finalizers."""
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
    kind: KindOf, options: DeleteOptions, document: Document, now: datetime
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


def _dependents_policy(kind: KindOf, options: DeleteOptions, meta: Document) -> str:
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


def delete_each(
    write: "Write", options: DeleteOptions, records: list[StoredRecord]
) -> list[StoredRecord]:
    """Deletecollection: the objects as they were; those that vanish meanwhile do not count."""
    deleted = []
    for record in records:
        namespace, slash, name = record.key.partition("/")
        target = replace(
            write.target,
            namespace=namespace if slash else "",
            name=name if slash else record.key,
        )
        one = replace(write, target=target)
        if write.cluster.collection(write.kind).newest(record.key) is None:
            continue
        delete(one, options)
        deleted.append(record)
    return deleted
