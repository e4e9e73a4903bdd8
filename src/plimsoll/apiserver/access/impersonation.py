"""Acting as another user: the headers that ask for it, and the right to do so.

Each name that is asked for needs the verb `impersonate` on it: users, groups, service accounts,
uids and extra values.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.authorizer import AccessControl
from plimsoll.apiserver.access.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Extra,
    User,
    account_groups,
    find_account,
)
from plimsoll.apiserver.model.status import bad_request

PREFIX = "impersonate-"
USER, GROUP, UID = "impersonate-user", "impersonate-group", "impersonate-uid"
EXTRA_PREFIX = "impersonate-extra-"
AUTHENTICATION = "authentication.k8s.io"

Headers = Iterable[tuple[str, str]]
"""Names in lower case; a name may be there more than once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedUser:
    name: str
    groups: tuple[str, ...]
    uid: str
    extra: Extra


def acting_user(user: User, headers: Headers, access: AccessControl) -> User:
    """The user that the request is answered for. Raises 400 and 403."""
    wanted = find_wanted(headers)
    if wanted is None:
        return user
    for asked in needed(wanted):
        access.check(user, asked)
    return User(name=wanted.name, groups=_groups(wanted), uid=wanted.uid, extra=wanted.extra)


def find_wanted(headers: Headers) -> WantedUser | None:
    """Raises 400 when groups are asked for without a user."""
    given = [(name, value) for name, value in headers if name.startswith(PREFIX)]
    if not given:
        return None
    names = [value for name, value in given if name == USER]
    if not (names and names[0]):
        raise bad_request("requested impersonation of groups, uid or extra without a user")
    extra: dict[str, list[str]] = {}
    for name, value in given:
        if name.startswith(EXTRA_PREFIX):
            extra.setdefault(unquote(name[len(EXTRA_PREFIX) :]).lower(), []).append(value)
    return WantedUser(
        name=names[0],
        groups=tuple(value for name, value in given if name == GROUP),
        uid=next((value for name, value in given if name == UID), ""),
        extra=tuple(sorted((key, tuple(values)) for key, values in extra.items())),
    )


def needed(wanted: WantedUser) -> list[AccessAttributes]:
    """Everything that the caller must be allowed to impersonate."""
    account = find_account(wanted.name)
    if account is not None:
        namespace, name = account
        asked = [_asked("serviceaccounts", name, namespace=namespace)]
    else:
        asked = [_asked("users", wanted.name)]
    asked += [_asked("groups", group) for group in wanted.groups]
    asked += [
        _asked("userextras", value, group=AUTHENTICATION, subresource=key)
        for key, values in wanted.extra
        for value in values
    ]
    if wanted.uid:
        asked.append(_asked("uids", wanted.uid, group=AUTHENTICATION))
    return asked


def _asked(
    resource: str, name: str, *, group: str = "", namespace: str = "", subresource: str = ""
) -> AccessAttributes:
    return AccessAttributes(
        verb="impersonate",
        group=group,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def _groups(wanted: WantedUser) -> tuple[str, ...]:
    """Those that are named; every user is authenticated or not."""
    groups = wanted.groups
    account = find_account(wanted.name)
    if account is not None and not groups:
        groups = account_groups(account[0])
    if wanted.name == ANONYMOUS.name:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, AUTHENTICATED)
