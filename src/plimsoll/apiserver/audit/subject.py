"""What an audit policy decides by: the user, the verb, and the resource of a request."""

from dataclasses import dataclass

from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.http.requests import Query, Target
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.verbs.verb import verb_of
from plimsoll.wire.transport import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSubject:
    user: str
    groups: tuple[str, ...]
    uid: str
    verb: str
    path: str
    uri: str
    agent: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def subject_of(request: Request, target: Target | None, user: User) -> AuditSubject:
    resource = None if target is None else target.resource
    return AuditSubject(
        user=user.name,
        groups=user.groups,
        uid=user.uid,
        verb=_verb(request, target),
        path=request.path,
        uri=request.target,
        agent=request.headers.get("user-agent", ""),
        is_resource=resource is not None,
        group=resource.group if resource else "",
        version=resource.version if resource else "",
        resource=resource.plural if resource else "",
        subresource=target.subresource if target else "",
        namespace=target.namespace if target else "",
        name=target.name if target else "",
    )


def _verb(request: Request, target: Target | None) -> str:
    if target is not None:
        try:
            return verb_of(request, target, Query(request))
        except ApiError:
            pass
    return request.method.lower()
