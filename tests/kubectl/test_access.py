"""Who may do what: `kubectl auth`, `create token`, and the eyes of another user."""

from tests.kubectl.command import Kubectl

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "reader"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}],
}


def let_robot_read(kubectl: Kubectl) -> str:
    """A service account that may read config maps; its user name."""
    kubectl("create", "serviceaccount", "robot")
    # This command alone does not fill in the namespace that it is given.
    placed = {"name": "reader", "namespace": kubectl.namespace}
    kubectl("auth", "reconcile", "-f", "-", stdin=ROLE | {"metadata": placed})
    account = f"{kubectl.namespace}:robot"
    kubectl("create", "rolebinding", "r", "--role=reader", f"--serviceaccount={account}")
    return f"system:serviceaccount:{account}"


def test_users_learn_who_they_are(kubectl: Kubectl) -> None:
    told = kubectl("auth", "whoami")
    assert "admin" in told
    assert "system:masters" in told


def test_rights_are_told_for_oneself_and_for_others(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "*", "*").strip() == "yes"
    robot = let_robot_read(kubectl)
    assert kubectl("auth", "can-i", "list", "configmaps", "--as", robot).strip() == "yes"
    refused = kubectl.run("auth", "can-i", "list", "secrets", "--as", robot)
    assert (refused.returncode, refused.stdout.strip()) == (1, "no")
    assert "configmaps" in kubectl("auth", "can-i", "--list", "--as", robot)


def test_another_user_sees_what_a_role_allows(kubectl: Kubectl) -> None:
    robot = let_robot_read(kubectl)
    kubectl("create", "configmap", "one")
    assert "one" in kubectl("get", "configmaps", "--as", robot)
    complaint = kubectl.refused("get", "secrets", "--as", robot)
    assert f'User "{robot}" cannot list resource "secrets"' in complaint
    assert "Forbidden" in kubectl.refused("delete", "configmap", "one", "--as", robot)
    assert "Forbidden" in kubectl.refused("get", "nodes", "--as", robot)


def test_a_token_is_what_an_account_shows_until_it_is_gone(kubectl: Kubectl) -> None:
    robot = let_robot_read(kubectl)
    token = kubectl("create", "token", "robot", "--duration=20m").strip()
    assert robot in kubectl("auth", "whoami", f"--token={token}")
    kubectl("delete", "serviceaccount", "robot")
    # A real server remembers for some seconds that the token was good.
    assert "not found" in kubectl.refused("create", "token", "robot")


def test_a_tenant_grants_no_more_than_they_have(kubectl: Kubectl) -> None:
    tenant = f"{kubectl.namespace}-tenant"
    kubectl("create", "rolebinding", "tenant", "--clusterrole=edit", f"--user={tenant}")
    allowed = ["create", "role", "writer", "--verb=create", "--resource=roles,rolebindings"]
    kubectl(*allowed)
    kubectl("create", "rolebinding", "writer", "--role=writer", f"--user={tenant}")
    binding = ["create", "rolebinding", "mine", "--clusterrole=cluster-admin", f"--user={tenant}"]
    complaint = kubectl.refused(*binding, "--as", tenant)
    assert "is attempting to grant RBAC permissions not currently held" in complaint
