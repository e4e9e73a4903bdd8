"""Users and their groups, by Kubernetes' names."""

from dataclasses import dataclass

from plimsoll.api.registry import Document

MASTERS = "system:masters"
"""The group that may do everything: no role is asked for it."""
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
SERVICE_ACCOUNTS = "system:serviceaccounts"
ACCOUNT_PREFIX = "system:serviceaccount:"
NODES, NODE_PREFIX = "system:nodes", "system:node:"

Extra = tuple[tuple[str, tuple[str, ...]], ...]
"""What else is known of a user, sorted by key; a tuple, because users are keys of indexes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Extra = ()

    @property
    def is_admin(self) -> bool:
        return MASTERS in self.groups


ADMIN = User(name="admin", groups=(MASTERS, AUTHENTICATED))
ANONYMOUS = User(name="system:anonymous", groups=(UNAUTHENTICATED,))
SERVER = User(name="system:apiserver", groups=(MASTERS, AUTHENTICATED))
"""The server itself, for what it keeps in the cluster."""


def account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{ACCOUNT_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups of all service accounts of a namespace, without `system:authenticated`."""
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def find_account(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name belongs to."""
    if not user_name.startswith(ACCOUNT_PREFIX):
        return None
    parts = user_name[len(ACCOUNT_PREFIX) :].split(":")
    return (parts[0], parts[1]) if len(parts) == 2 and all(parts) else None  # noqa: PLR2004


def find_node(user: User) -> str | None:
    """The node whose kubelet the user is."""
    if NODES not in user.groups or not user.name.startswith(NODE_PREFIX):
        return None
    return user.name[len(NODE_PREFIX) :]


def user_info(user: User) -> Document:
    """The user as reviews and certificate requests show it."""
    info: Document = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra}
    return info
