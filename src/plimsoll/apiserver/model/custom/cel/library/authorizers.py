"""What a user may do, asked by an expression: `authorizer.group('').resource('pods').check(…)`.

The caller hands in the function that answers. Only the expressions of policies have an authorizer
to ask.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.apiserver.model.custom.cel.library.types import want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter

STEPS = 20
"""What a question costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessQuestion:
    """May the user, or a service account, do this?"""

    account: tuple[str, str] | None = None
    """Namespace and name; None: the user of the request."""
    verb: str = ""
    path: str | None = None
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    allowed: bool
    reason: str = ""


Answerer = Callable[[AccessQuestion], AccessAnswer]


class AuthorizerValue(dict[str, Any]):
    """What the name `authorizer` stands for; it has one member, `requestResource`."""

    def __init__(self, answer: Answerer, account: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.answer = answer
        self.account = account


@dataclass(frozen=True, slots=True)
class PathCheck:
    question: AccessQuestion
    answer: Answerer


@dataclass(frozen=True, slots=True)
class GroupCheck:
    question: AccessQuestion
    answer: Answerer


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    question: AccessQuestion
    answer: Answerer


def _path(_meter: Meter, target: Any, path: Any) -> PathCheck:
    want(AuthorizerValue, target)
    want(str, path)
    if not path:
        raise CelError("path must not be empty")
    return PathCheck(AccessQuestion(account=target.account, path=path), target.answer)


def _group(_meter: Meter, target: Any, group: Any) -> GroupCheck:
    want(AuthorizerValue, target)
    want(str, group)
    return GroupCheck(AccessQuestion(account=target.account, group=group), target.answer)


def _service_account(_meter: Meter, target: Any, namespace: Any, name: Any) -> AuthorizerValue:
    want(AuthorizerValue, target)
    want(str, namespace, name)
    if dns_subdomain_errors(name):
        raise CelError("Invalid service account name")
    if dns_label_errors(namespace):
        raise CelError("Invalid service account namespace")
    return AuthorizerValue(target.answer, (namespace, name))


def _resource(_meter: Meter, target: Any, resource: Any) -> ResourceCheck:
    want(GroupCheck, target)
    want(str, resource)
    return ResourceCheck(replace(target.question, resource=resource), target.answer)


def _with(field: str) -> Callable[..., Any]:
    """A step that says more about the resource."""

    def step(_meter: Meter, target: Any, text: Any) -> ResourceCheck:
        want(ResourceCheck, target)
        want(str, text)
        return ResourceCheck(replace(target.question, **{field: text}), target.answer)

    return step


def _with_labels(_meter: Meter, target: Any, text: Any) -> ResourceCheck:
    """No authorizer here looks at the labels that are asked for."""
    want(ResourceCheck, target)
    want(str, text)
    found: ResourceCheck = target
    return found


def _check(meter: Meter, target: Any, verb: Any) -> AccessAnswer:
    if not isinstance(target, ResourceCheck | PathCheck):
        raise TypeError("ResourceCheck")
    want(str, verb)
    meter.charge(STEPS)
    return target.answer(replace(target.question, verb=verb))


def _allowed(_meter: Meter, target: Any) -> bool:
    want(AccessAnswer, target)
    return bool(target.allowed)


def _reason(_meter: Meter, target: Any) -> str:
    want(AccessAnswer, target)
    return str(target.reason)


def _errored(_meter: Meter, target: Any) -> bool:
    """The authorizers of this server always have an answer."""
    want(AccessAnswer, target)
    return False


def _error(_meter: Meter, target: Any) -> str:
    want(AccessAnswer, target)
    return ""


METHODS: dict[str, Callable[..., Any]] = {
    "path": _path,
    "group": _group,
    "serviceAccount": _service_account,
    "resource": _resource,
    "subresource": _with("subresource"),
    "namespace": _with("namespace"),
    "name": _with("name"),
    "fieldSelector": _with("field_selector"),
    "labelSelector": _with_labels,
    "check": _check,
    "allowed": _allowed,
    "reason": _reason,
    "errored": _errored,
    "error": _error,
}
