"""Priority levels: which requests compete with which, after kube-apiserver's default objects.

Each level has seats of its own, so that a flood on one of them keeps no other waiting. The levels
are built in: FlowSchemas and PriorityLevelConfigurations are stored and change nothing (ADR 50).
"""

from dataclasses import dataclass

from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.http.requests import Target

HEALTH = ("/healthz", "/livez", "/readyz")
SYSTEM_USERS = frozenset({"system:kube-controller-manager", "system:kube-scheduler"})
NODES = "system:nodes"
SERVICE_ACCOUNTS = "system:serviceaccounts"
KUBE_SYSTEM_ACCOUNTS = "system:serviceaccounts:kube-system"
UNAUTHENTICATED = "system:unauthenticated"


@dataclass(frozen=True, slots=True)
class PriorityLevel:
    name: str
    seats: int
    """How many requests are worked on at a time; long lists take several."""
    most_waiting: int = 100
    """Requests of one user that may wait; others are told to come again."""

    @property
    def most_seats(self) -> int:
        """One user never has all of them: the next one to come finds a seat."""
        return max(1, self.seats * 3 // 4)


LEADER_ELECTION = PriorityLevel("leader-election", 4)
SYSTEM = PriorityLevel("system", 8)
WORKLOAD_HIGH = PriorityLevel("workload-high", 8)
WORKLOAD_LOW = PriorityLevel("workload-low", 16)
GLOBAL_DEFAULT = PriorityLevel("global-default", 8)
CATCH_ALL = PriorityLevel("catch-all", 2)
LEVELS = (LEADER_ELECTION, SYSTEM, WORKLOAD_HIGH, WORKLOAD_LOW, GLOBAL_DEFAULT, CATCH_ALL)


def find_level(path: str, target: Target | None, user: User) -> PriorityLevel | None:
    """None: the request is exempt, as those of administrators and questions of health are."""
    if user.is_admin or path.startswith(HEALTH):
        return None
    if UNAUTHENTICATED in user.groups:
        return CATCH_ALL
    is_system = user.name in SYSTEM_USERS or KUBE_SYSTEM_ACCOUNTS in user.groups
    if is_system:
        return LEADER_ELECTION if _is_lease(target) else WORKLOAD_HIGH
    if NODES in user.groups:
        return SYSTEM
    return WORKLOAD_LOW if SERVICE_ACCOUNTS in user.groups else GLOBAL_DEFAULT


def _is_lease(target: Target | None) -> bool:
    return target is not None and target.resource.group == "coordination.k8s.io"
