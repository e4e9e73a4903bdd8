"""A user who may do what the workloads do, and no more, by roles and bindings.

Administrators are in `system:masters`, whose rights no server looks up. A service account is asked
for its token, its roles and its bindings with every request, as a controller or an operator is.
"""

import http.client
from collections.abc import Mapping
from dataclasses import replace

from tests.servers import Endpoint

NAMESPACE, NAME = "kube-system", "bench"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
RULES = [
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]},
    {
        "apiGroups": [""],
        "resources": ["configmaps", "pods"],
        "verbs": ["create", "get", "list", "watch", "patch", "delete"],
    },
]


def bound_account(administrator: Endpoint) -> Endpoint:
    """The same server for a service account that a role was bound to."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    subject = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": NAME}
    metadata = {"name": NAME}
    _created(administrator, ACCOUNTS, {"metadata": metadata})
    _created(administrator, f"{RBAC}/clusterroles", {"metadata": metadata, "rules": RULES})
    _created(
        administrator,
        f"{RBAC}/clusterrolebindings",
        {"metadata": metadata, "roleRef": reference, "subjects": [subject]},
    )
    asked = {"spec": {"expirationSeconds": 3600}}
    return replace(administrator, token=_created(administrator, f"{ACCOUNTS}/{NAME}/token", asked))


def _created(administrator: Endpoint, path: str, body: Mapping[str, object]) -> str:
    """The token in the answer, if there is one."""
    code, answer = administrator.request("POST", path, body)
    if code != http.client.CREATED:
        raise RuntimeError(f"POST {path} answered {code}: {answer}")
    token: str = (answer.get("status") or {}).get("token", "")
    return token
