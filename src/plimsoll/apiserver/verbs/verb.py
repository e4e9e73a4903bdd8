"""Which verb a request asks for, and whether its target has that verb.

Every refusal is an ApiError: 405 where the verb has no meaning, 404 for subresources that the
embedded server does not have.
"""

from enum import StrEnum

from plimsoll.apiserver.http.requests import Query, Target, method_not_allowed
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.status import ApiError
from plimsoll.wire.transport import Request

PARTS = ("", "status", "approval", "ephemeralcontainers", "resize")
"""Subresources that are a part of the object and answer with the whole of it."""


class Verb(StrEnum):
    """The values are Kubernetes' names, as discovery lists them."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    DELETE_COLLECTION = "deletecollection"


WRITE_VERB_BY_METHOD = {"POST": Verb.CREATE, "PUT": Verb.UPDATE, "PATCH": Verb.PATCH}


def verb_of(request: Request, target: Target, query: Query) -> Verb:
    """Raises 405 for methods that no resource has, or that paths for watches do not."""
    if target.watch and request.method != "GET":
        raise method_not_allowed()
    match request.method:
        case "GET":
            if target.watch or (not target.name and query.boolean("watch")):
                return Verb.WATCH
            return Verb.GET if target.name else Verb.LIST
        case "DELETE":
            return Verb.DELETE if target.name else Verb.DELETE_COLLECTION
        case method:
            verb = WRITE_VERB_BY_METHOD.get(method)
            if verb is None:
                raise method_not_allowed()
            return verb


def check_verb(verb: Verb, target: Target) -> None:
    """Raises 405 unless the target has the verb, and the path what the verb needs."""
    resource = target.resource
    lacks_namespace = resource.namespaced and not target.namespace
    match verb:
        case Verb.CREATE:
            misplaced = not target.subresource and (bool(target.name) or lacks_namespace)
        case Verb.UPDATE | Verb.PATCH:
            misplaced = not target.name
        case Verb.DELETE_COLLECTION:
            misplaced = lacks_namespace
        case _:
            misplaced = False
    if verb is Verb.CREATE and isinstance(resource, CustomResource):
        misplaced = misplaced or resource.served.is_terminating
    if misplaced or verb not in _verbs(target):
        raise method_not_allowed()


def _verbs(target: Target) -> tuple[str, ...]:
    if not target.subresource:
        return target.resource.verbs
    subresource = target.resource.subresource(target.subresource)
    return subresource.verbs if subresource is not None else ()


def check_part(target: Target) -> None:
    """Raises 404 unless the target is an object or a part that answers with the whole object."""
    if target.subresource not in PARTS:
        raise not_served(target)


def not_served(target: Target) -> ApiError:
    return ApiError(
        404,
        "NotFound",
        f"{target.resource.plural}/{target.subresource} is not served by the embedded API server",
        {},
    )
