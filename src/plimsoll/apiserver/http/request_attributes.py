"""What a request asks for, in the words of authorizers: from its target, its method, its query."""

from plimsoll.apiserver.access.attributes import (
    NAMESPACES,
    VERB_BY_METHOD,
    AccessAttributes,
    attributes_of_unknown,
    selected_name,
)
from plimsoll.apiserver.http.requests import Query, Target, is_resource_path
from plimsoll.wire.transport import Request

SELECTING = frozenset({"list", "watch", "deletecollection"})


def attributes_of(request: Request, target: Target | None) -> AccessAttributes:
    if target is not None:
        return _of_target(request, target)
    if is_resource_path(request.path):
        return attributes_of_unknown(request.method, request.path)
    return AccessAttributes(verb=request.method.lower(), path=request.path)


def _of_target(request: Request, target: Target) -> AccessAttributes:
    query = Query(request) if request.query else None
    verb = _verb(request, target, query)
    selector = query.text("fieldSelector") if query is not None and verb in SELECTING else ""
    # A list of one object by its name is allowed to those who may read that object.
    by_name = verb in ("list", "watch") and not target.name
    resource = target.resource
    is_namespace = (resource.group, resource.plural) == ("", NAMESPACES)
    return AccessAttributes(
        verb=verb,
        group=resource.group,
        resource=resource.plural,
        subresource=target.subresource,
        # A namespace is in itself: who has a role in it may have the right to read it.
        namespace=target.name if is_namespace else target.namespace,
        name=selected_name(selector) if by_name else target.name,
        field_selector=selector,
    )


def _verb(request: Request, target: Target, query: Query | None) -> str:
    # Other methods are never taken for a watch: who may watch could write otherwise.
    if target.watch and request.method == "GET":
        return "watch"
    verb = VERB_BY_METHOD.get(request.method, "")
    if target.name:
        return verb
    if verb == "get":
        return "watch" if query is not None and query.boolean("watch") else "list"
    return "deletecollection" if verb == "delete" else verb
