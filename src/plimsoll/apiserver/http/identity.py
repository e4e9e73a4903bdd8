"""Who asks, and what they may do.

Authentication happens where requests come in: the HTTP side reads tokens and certificates, the
in-process transport carries its user with it. Authorization happens in the server, for both.
"""

import hmac
from dataclasses import dataclass
from typing import Protocol

from plimsoll.apiserver.model.status import ApiError

MASTERS = "system:masters"
OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    @property
    def is_admin(self) -> bool:
        return MASTERS in self.groups


ADMIN = User(name="admin", groups=(MASTERS, "system:authenticated"))
ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))


class Authorizer(Protocol):
    def allows(self, user: User, method: str, path: str) -> bool: ...


class AdminsOnly:
    """Administrators may do everything, others only ask whether the server is well."""

    def allows(self, user: User, method: str, path: str) -> bool:
        if user.is_admin:
            return True
        return method in ("GET", "HEAD") and (
            path in OPEN_PATHS or path.startswith(("/healthz/", "/livez/", "/readyz/"))
        )


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def user_for_token(header: str, admin_token: str) -> User:
    """The user of an Authorization header. Raises 401 for a token that no user has."""
    if not header:
        return ANONYMOUS
    scheme, _, token = header.partition(" ")
    given, known = token.strip().encode(), admin_token.encode()
    # An empty token belongs to no user, even where the known one was lost.
    if scheme.lower() == "bearer" and given and hmac.compare_digest(given, known):
        return ADMIN
    raise unauthorized()


def user_for_certificate(certificate: dict[str, object]) -> User:
    """The user that a client certificate names: common name, organizations as groups."""
    names: dict[str, list[str]] = {}
    subject = certificate.get("subject", ())
    if isinstance(subject, tuple):
        for part in subject:
            for key, value in part:
                names.setdefault(key, []).append(value)
    common = names.get("commonName", [""])[0]
    return User(name=common, groups=(*names.get("organizationName", ()), "system:authenticated"))
