"""Who may do what: the authorizers of `--authorization-mode`, asked one after the other.

The first that allows a request decides. Members of `system:masters` are not asked about.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Protocol

from plimsoll.apiserver.access.attributes import AccessAttributes, refused_access
from plimsoll.apiserver.access.decision import AccessDecision
from plimsoll.apiserver.access.node_authorizer import NodeAuthorizer
from plimsoll.apiserver.access.rbac.index import RoleIndex
from plimsoll.apiserver.access.rbac.rules import ALL, PolicyRule
from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.model.status import ApiError


class AuthorizationMode(StrEnum):
    """kube-apiserver's names."""

    ALWAYS_ALLOW = "AlwaysAllow"
    ALWAYS_DENY = "AlwaysDeny"
    NODE = "Node"
    RBAC = "RBAC"


MODES_NOT_BUILT = frozenset({"ABAC", "Webhook"})
DEFAULT_MODES = (AuthorizationMode.NODE, AuthorizationMode.RBAC)
FORBID = (("authorization.k8s.io/decision", "forbid"),)
"""As the audit log has it."""
EVERYTHING = (
    PolicyRule(verbs=(ALL,), groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), paths=(ALL,)),
)


def parse_modes(text: str) -> tuple[AuthorizationMode, ...]:
    """Modes separated by commas. Raises ValueError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = [str(mode) for mode in AuthorizationMode]
    unknown = [name for name in names if name not in known]
    if unknown:
        built = f"there are {', '.join(known)}"
        if MODES_NOT_BUILT.issuperset(unknown):
            raise ValueError(f"{', '.join(unknown)}: this server does not have it; {built}")
        raise ValueError(f"{', '.join(unknown)}: no such mode; {built}")
    if not names or len(set(names)) < len(names):
        raise ValueError("name at least one mode, and each of them once")
    return tuple(AuthorizationMode(name) for name in names)


class Authorizer(Protocol):
    def allows(self, user: User, asked: AccessAttributes) -> bool: ...

    def explain(self, user: User, asked: AccessAttributes) -> AccessDecision:
        """The same answer, with the reason that a review shows."""
        ...


class AlwaysAllow:
    def allows(self, _user: User, _asked: AccessAttributes) -> bool:
        return True

    def explain(self, _user: User, _asked: AccessAttributes) -> AccessDecision:
        return AccessDecision(allowed=True)


class AlwaysDeny:
    def allows(self, _user: User, _asked: AccessAttributes) -> bool:
        return False

    def explain(self, _user: User, _asked: AccessAttributes) -> AccessDecision:
        return AccessDecision(allowed=False, reason="Everything is forbidden.")


class RbacAuthorizer:
    def __init__(self, index: RoleIndex) -> None:
        self._index = index

    def allows(self, user: User, asked: AccessAttributes) -> bool:
        return self._index.grants(user, asked.namespace).allows(asked)

    def explain(self, user: User, asked: AccessAttributes) -> AccessDecision:
        grants = self._index.grants(user, asked.namespace)
        for grant in grants.allowing(asked):
            return AccessDecision(allowed=True, reason=f"RBAC: allowed by {grant.source}")
        missing = grants.missing_roles()
        said = missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]"
        return AccessDecision(allowed=False, reason=f"RBAC: {said}" if missing else "")


class AccessControl:
    """All authorizers of one server, and the index of its roles."""

    def __init__(
        self,
        *,
        nodes: NodeAuthorizer | None = None,
        modes: Sequence[AuthorizationMode] = DEFAULT_MODES,
    ) -> None:
        self.roles = RoleIndex()
        self.modes = tuple(modes)
        built: dict[AuthorizationMode, Authorizer] = {
            AuthorizationMode.ALWAYS_ALLOW: AlwaysAllow(),
            AuthorizationMode.ALWAYS_DENY: AlwaysDeny(),
            AuthorizationMode.NODE: nodes or NodeAuthorizer(),
            AuthorizationMode.RBAC: RbacAuthorizer(self.roles),
        }
        self._authorizers = tuple(built[mode] for mode in self.modes)

    def allows(self, user: User, asked: AccessAttributes) -> bool:
        return user.is_admin or any(each.allows(user, asked) for each in self._authorizers)

    def check(self, user: User, asked: AccessAttributes) -> None:
        """Raises 403."""
        if not self.allows(user, asked):
            raise self._refusal(user, asked)

    def _refusal(self, user: User, asked: AccessAttributes) -> ApiError:
        # Not in a name of the frame that raises it: the error's traceback would refer to that
        # frame, and the circle keep the buffers of the connection until the collector finds it.
        refused = refused_access(user, asked, self.explain(user, asked).reason)
        refused.annotations = FORBID
        return refused

    def explain(self, user: User, asked: AccessAttributes) -> AccessDecision:
        if user.is_admin:
            return AccessDecision(allowed=True)
        reasons = []
        for each in self._authorizers:
            decision = each.explain(user, asked)
            if decision.allowed:
                return decision
            reasons.append(decision.reason)
        return AccessDecision(allowed=False, reason="\n".join(filter(None, reasons)))

    def rules_of(self, user: User, namespace: str) -> Iterable[PolicyRule]:
        """What roles, or the mode, allow in a namespace; what nodes may do has no such list."""
        if AuthorizationMode.ALWAYS_ALLOW in self.modes:
            return EVERYTHING
        if AuthorizationMode.RBAC not in self.modes:
            return ()
        return self.roles.grants(user, namespace).rules()
