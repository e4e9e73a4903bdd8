"""Acting as another user needs the right to do so, name by name."""

import pytest

from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.authorizer import AccessControl
from plimsoll.apiserver.access.impersonation import acting_user, find_wanted, needed
from plimsoll.apiserver.access.rbac.index import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from plimsoll.apiserver.access.users import ADMIN, User
from plimsoll.apiserver.model.status import ApiError

UNPRIVILEGED = User(name="nobody", groups=("system:authenticated",))


def acting(user: User, *headers: tuple[str, str], access: AccessControl | None = None) -> User:
    return acting_user(user, headers, access or AccessControl())


def test_the_administrator_may_be_any_user() -> None:
    assert acting(ADMIN) is ADMIN
    bob = acting(ADMIN, ("impersonate-user", "bob"), ("impersonate-group", "team"))
    assert bob == User(name="bob", groups=("team", "system:authenticated"))
    assert not bob.is_admin


def test_service_accounts_and_the_anonymous_have_their_groups() -> None:
    robot = acting(ADMIN, ("impersonate-user", "system:serviceaccount:red:robot"))
    assert robot.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:red",
        "system:authenticated",
    )
    stranger = acting(ADMIN, ("impersonate-user", "system:anonymous"))
    assert stranger.groups == ("system:unauthenticated",)


def test_extra_values_and_the_uid_are_taken_over() -> None:
    headers = (
        ("impersonate-user", "bob"),
        ("impersonate-uid", "1"),
        ("impersonate-extra-acme.com%2fproject", "one"),
        ("impersonate-extra-acme.com%2fproject", "two"),
    )
    bob = acting(ADMIN, *headers)
    assert (bob.uid, bob.extra) == ("1", (("acme.com/project", ("one", "two")),))


def test_a_group_without_a_user_is_a_bad_request() -> None:
    with pytest.raises(ApiError) as refused:
        acting(ADMIN, ("impersonate-group", "system:masters"))
    assert refused.value.code == 400


def test_everything_that_is_asked_for_has_to_be_allowed() -> None:
    wanted = find_wanted(
        [
            ("impersonate-user", "system:serviceaccount:red:robot"),
            ("impersonate-group", "system:masters"),
            ("impersonate-extra-scope", "all"),
            ("impersonate-uid", "1"),
        ]
    )
    assert wanted is not None
    assert [(a.full_resource, a.group, a.namespace, a.name) for a in needed(wanted)] == [
        ("serviceaccounts", "", "red", "robot"),
        ("groups", "", "", "system:masters"),
        ("userextras/scope", "authentication.k8s.io", "", "all"),
        ("uids", "authentication.k8s.io", "", "1"),
    ]


def test_one_name_that_is_not_allowed_refuses_all() -> None:
    access = AccessControl()
    rule = {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]}
    access.roles.put(CLUSTER_ROLES, ("", "r"), {"rules": [rule | {"resourceNames": ["bob"]}]})
    binding = {
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "nobody"}],
    }
    access.roles.put(CLUSTER_ROLE_BINDINGS, ("", "b"), binding)
    assert acting(UNPRIVILEGED, ("impersonate-user", "bob"), access=access).name == "bob"
    for headers in (
        [("impersonate-user", "ann")],
        [("impersonate-user", "bob"), ("impersonate-group", "system:masters")],
        [("impersonate-user", "system:serviceaccount:red:bob")],
    ):
        with pytest.raises(ApiError) as refused:
            acting(UNPRIVILEGED, *headers, access=access)
        assert refused.value.code == 403
        assert "cannot impersonate resource" in str(refused.value)


def test_impersonation_is_no_way_around_a_refusal() -> None:
    assert not AccessControl().allows(
        UNPRIVILEGED, AccessAttributes(verb="impersonate", resource="users")
    )
