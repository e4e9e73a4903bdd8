"""Options of a deletion: grace period, preconditions, what becomes of dependents, dry run."""

from collections.abc import Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.requests import Query
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import bad_request, invalid
from plimsoll.apiserver.verbs.options.write_options import dry_run_errors

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

    def said(self) -> Document:
        """What the client said of the deletion, as webhooks and policies are told it."""
        conditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        told: Document = {
            "gracePeriodSeconds": self.grace_seconds,
            "preconditions": {name: value for name, value in conditions.items() if value} or None,
            "orphanDependents": self.orphan_dependents,
            "propagationPolicy": self.propagation or None,
        }
        return {name: value for name, value in told.items() if value is not None}


def delete_options(query: Query, body: object) -> DeleteOptions:
    """From the body, or from the query where there is no body."""
    given = _typed_options(body)
    source = given or _from_query(query)
    if query.all("dryRun"):
        source = source | {"dryRun": query.all("dryRun")}
    return read_options(source)


def read_options(source: Document) -> DeleteOptions:
    """Of a document that has the types of DeleteOptions. Raises 422."""
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
    yield from dry_run_errors(options.get("dryRun", ()))
