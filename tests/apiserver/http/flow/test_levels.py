"""Which requests compete with which."""

import pytest

from plimsoll.apiserver.access.users import ADMIN, ANONYMOUS, User
from plimsoll.apiserver.http.flow.levels import (
    CATCH_ALL,
    GLOBAL_DEFAULT,
    LEADER_ELECTION,
    LEVELS,
    SYSTEM,
    WORKLOAD_HIGH,
    WORKLOAD_LOW,
    PriorityLevel,
    find_level,
)
from plimsoll.apiserver.http.requests import parse_target

PODS = "/api/v1/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
SCHEDULER = User(name="system:kube-scheduler")
NODE = User(name="system:node:a", groups=("system:nodes",))
TENANT = User(name="alice", groups=("system:authenticated",))


def account(namespace: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(name=f"system:serviceaccount:{namespace}:a", groups=groups)


@pytest.mark.parametrize(
    ("user", "path", "level"),
    [
        pytest.param(ADMIN, PODS, None, id="administrators-are-exempt"),
        pytest.param(SCHEDULER, LEASE, LEADER_ELECTION, id="leases-of-the-scheduler"),
        pytest.param(SCHEDULER, PODS, WORKLOAD_HIGH, id="the-scheduler"),
        pytest.param(NODE, PODS, SYSTEM, id="a-node"),
        pytest.param(account("kube-system"), LEASE, LEADER_ELECTION, id="leases-of-an-add-on"),
        pytest.param(account("kube-system"), PODS, WORKLOAD_HIGH, id="an-add-on"),
        pytest.param(account("shop"), LEASE, WORKLOAD_LOW, id="leases-of-others"),
        pytest.param(TENANT, PODS, GLOBAL_DEFAULT, id="a-person"),
        pytest.param(ANONYMOUS, PODS, CATCH_ALL, id="a-stranger"),
    ],
)
def test_who_asks_decides_the_level(user: User, path: str, level: PriorityLevel | None) -> None:
    assert find_level(path, parse_target(path), user) is level


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz/ping"])
def test_questions_of_health_are_exempt(path: str) -> None:
    assert find_level(path, None, ANONYMOUS) is None


def test_no_user_can_take_all_seats_of_a_level() -> None:
    assert all(level.most_seats < level.seats for level in LEVELS)
