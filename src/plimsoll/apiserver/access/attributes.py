"""What a request asks for, as authorizers see it, and how a refusal is told.

Attributes are taken from the very target that the request is answered for: no path can mean one
thing to an authorizer and another to a handler.
"""

import re
from urllib.parse import unquote

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.model.status import ApiError

VERB_BY_METHOD = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
NAMESPACES = "namespaces"
NAMESPACE_SUBRESOURCES = ("status", "finalize")
NAME_SELECTED = re.compile(r"^metadata\.name==?([^,=!/%\\]+)$")
"""A field selector that allows for one object alone."""
UNSAFE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class AccessAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """A verb on a resource, or on a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    """Of what is no resource."""
    field_selector: str = ""
    """Of lists and watches, as it was sent."""

    @property
    def is_resource(self) -> bool:
        return self.path is None

    @property
    def full_resource(self) -> str:
        """With its subresource: `pods/binding`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def selected_name(field_selector: str) -> str:
    """The one name that a field selector allows for; empty when there is none."""
    for part in field_selector.split(","):
        found = NAME_SELECTED.match(part.strip())
        if found is not None and found[1] not in (".", ".."):
            return found[1]
    return ""


def attributes_of_unknown(method: str, path: str) -> AccessAttributes:
    """Of a path of the form of a resource's, but of none that is served."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    verb = VERB_BY_METHOD.get(method, "")
    if len(rest) > 1 and rest[0] == "watch":
        verb, rest = "watch" if method == "GET" else verb, rest[1:]
    namespace = ""
    if rest[0] == NAMESPACES and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in NAMESPACE_SUBRESOURCES:  # noqa: PLR2004
            rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    if not name:
        verb = {"get": "list", "delete": "deletecollection"}.get(verb, verb)
    return AccessAttributes(
        verb=verb,
        group=group,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def refused_access(user: User, asked: AccessAttributes, reason: str = "") -> ApiError:
    """403 in Kubernetes' words."""
    why = _cannot(user, asked).translate(UNSAFE) + (f": {reason}" if reason else "")
    if not asked.is_resource:
        return ApiError(403, "Forbidden", f"forbidden: {why}", {})
    qualified = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    named = f'{qualified} "{asked.name}"' if asked.name else qualified
    details: Document = {"name": asked.name} if asked.name else {}
    if asked.group:
        details["group"] = asked.group
    details["kind"] = asked.resource
    return ApiError(403, "Forbidden", f"{named} is forbidden: {why}", details)


def _cannot(user: User, asked: AccessAttributes) -> str:
    if not asked.is_resource:
        return f'User "{user.name}" cannot {asked.verb} path "{asked.path}"'
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    return (
        f'User "{user.name}" cannot {asked.verb} resource "{asked.full_resource}" in API group '
        f'"{asked.group}" {where}'
    )
