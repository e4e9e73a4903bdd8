"""What kubelets may do: read what the pods on their node need, and write about their own node.

A user of the group `system:nodes` with the name `system:node:<node>` is a kubelet. It may read a
secret, config map, claim, volume or service account only if a pod on its node refers to it. For all
else the rules of the role `system:node` hold. Which pods refer to an object is looked up among the
pods of its namespace when a kubelet asks: nothing is kept for that.
"""

from collections.abc import Callable, Iterator
from functools import cache

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.decision import AccessDecision
from plimsoll.apiserver.access.objects import NoObjects, ObjectSource
from plimsoll.apiserver.access.pod_references import (
    claim_names,
    config_map_names,
    resource_claim_names,
    secret_names,
    volume_secrets,
)
from plimsoll.apiserver.access.rbac.bootstrap import bootstrap_roles
from plimsoll.apiserver.access.rbac.rules import PolicyRule, parse_rules
from plimsoll.apiserver.access.users import User, find_node

READS = ("get", "list", "watch")
OWN_OBJECT = ("get", "create", "update", "patch", "delete")
LEASES = "kube-node-lease"
NO_RELATION = "no relationship found between node '{node}' and this object"

Judge = Callable[[str, AccessAttributes], str | None]
"""Of a node and a question: why not, empty without a reason; None: it is allowed."""


@cache
def node_rules() -> tuple[PolicyRule, ...]:
    """Of the role `system:node`, which no binding grants."""
    roles = {role["metadata"]["name"]: role for role in bootstrap_roles().cluster_roles}
    return parse_rules(roles["system:node"])


class NodeAuthorizer:
    def __init__(self, objects: ObjectSource | None = None) -> None:
        self._objects = objects or NoObjects()
        self._judges: dict[tuple[str, str], Judge] = {
            ("", "secrets"): self._secret,
            ("", "configmaps"): self._config_map,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._volume,
            ("", "serviceaccounts"): self._account,
            ("", "nodes"): _own_node,
            ("", "pods"): self._pod,
            ("coordination.k8s.io", "leases"): _own_lease,
            ("resource.k8s.io", "resourceclaims"): self._resource_claim,
            ("storage.k8s.io", "csinodes"): _own_csi_node,
            ("storage.k8s.io", "volumeattachments"): self._attachment,
        }

    def allows(self, user: User, asked: AccessAttributes) -> bool:
        node = find_node(user)
        return node is not None and self._judge(node, asked) is None

    def explain(self, user: User, asked: AccessAttributes) -> AccessDecision:
        node = find_node(user)
        if node is None:
            return AccessDecision(allowed=False)
        against = self._judge(node, asked)
        return AccessDecision(allowed=against is None, reason=against or "")

    def _judge(self, node: str, asked: AccessAttributes) -> str | None:
        if not node:
            return "unknown node"
        judge = self._judges.get((asked.group, asked.resource))
        if judge is not None:
            return judge(node, asked)
        return None if any(rule.allows(asked) for rule in node_rules()) else ""

    def _pods(self, node: str, namespace: str) -> Iterator[Document]:
        for record in self._objects.within("pods", namespace):
            if record.fields.get("spec.nodeName") == node:
                yield record.document()

    def _related(self, node: str, asked: AccessAttributes, *, related: bool) -> str | None:
        if not asked.name:
            return "No Object name found"
        return None if related else NO_RELATION.format(node=node)

    def _readable(
        self, node: str, asked: AccessAttributes, names: Callable[[Document], Iterator[str]]
    ) -> str | None:
        if asked.verb not in READS:
            return "can only read resources of this type"
        if asked.subresource:
            return "cannot read subresource"
        if not asked.namespace:
            return "can only read namespaced object of this type"
        pods = self._pods(node, asked.namespace)
        return self._related(node, asked, related=any(asked.name in names(pod) for pod in pods))

    def _config_map(self, node: str, asked: AccessAttributes) -> str | None:
        return self._readable(node, asked, config_map_names)

    def _secret(self, node: str, asked: AccessAttributes) -> str | None:
        against = self._readable(node, asked, secret_names)
        if against != NO_RELATION.format(node=node):
            return against
        held = (asked.namespace, asked.name)
        return None if held in self._secrets_of_volumes(node) else against

    def _secrets_of_volumes(self, node: str) -> Iterator[tuple[str, str]]:
        """Of the volumes that claims of pods on the node are bound to, whatever their namespace:
        secrets of a driver are seldom where its users are."""
        for pod in self._pods(node, ""):
            for claim in claim_names(pod):
                volume = self._volume_of(pod["metadata"]["namespace"], claim)
                if volume is not None:
                    yield from volume_secrets(volume)

    def _volume_of(self, namespace: str, claim: str) -> Document | None:
        """Bound both ways: a claim may name any volume, also one of another tenant."""
        found = self._objects.find("persistentvolumeclaims", f"{namespace}/{claim}")
        name = found.document().get("spec", {}).get("volumeName", "") if found else ""
        held = self._objects.find("persistentvolumes", name) if name else None
        volume = held.document() if held is not None else {}
        reference = volume.get("spec", {}).get("claimRef") or {}
        is_bound = (reference.get("namespace"), reference.get("name")) == (namespace, claim)
        return volume if is_bound else None

    def _claim(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.subresource == "status":
            if asked.verb not in ("update", "patch"):
                return "can only get/update/patch this type"
        elif asked.verb != "get":
            return "can only get individual resources of this type"
        elif asked.subresource:
            return "cannot get subresource"
        return self._related(
            node, asked, related=self._uses_claim(node, asked.namespace, asked.name)
        )

    def _resource_claim(self, node: str, asked: AccessAttributes) -> str | None:
        against = _only_get(asked)
        if against is not None:
            return against
        pods = self._pods(node, asked.namespace)
        related = any(asked.name in resource_claim_names(pod) for pod in pods)
        return self._related(node, asked, related=related)

    def _uses_claim(self, node: str, namespace: str, claim: str) -> bool:
        return any(claim in claim_names(pod) for pod in self._pods(node, namespace))

    def _volume(self, node: str, asked: AccessAttributes) -> str | None:
        against = _only_get(asked)
        if against is not None:
            return against
        found = self._objects.find("persistentvolumes", asked.name)
        claim = (found.document().get("spec", {}).get("claimRef") or {}) if found else {}
        namespace, name = claim.get("namespace", ""), claim.get("name", "")
        related = bool(name) and self._uses_claim(node, namespace, name)
        return self._related(node, asked, related=related)

    def _attachment(self, node: str, asked: AccessAttributes) -> str | None:
        against = _only_get(asked)
        if against is not None:
            return against
        found = self._objects.find("volumeattachments.storage.k8s.io", asked.name)
        attached = found.document().get("spec", {}).get("nodeName") if found else None
        return self._related(node, asked, related=attached == node)

    def _account(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.verb == "get" and not asked.subresource:
            return self._readable(node, asked, _account_names)
        if asked.verb != "create" or not asked.name:
            return "can only create tokens for individual service accounts"
        if asked.subresource != "token":
            return "can only create token subresource of serviceaccount"
        pods = self._pods(node, asked.namespace)
        related = any(asked.name in _account_names(pod) for pod in pods)
        return self._related(node, asked, related=related)

    def _pod(self, node: str, asked: AccessAttributes) -> str | None:
        match asked.subresource, asked.verb:
            case "", "create" | "delete":
                return None
            case "status", "update" | "patch":
                return None
            case "eviction", "create":
                return None
            case "", "list" | "watch" if f"spec.nodeName={node}" in asked.field_selector.split(","):
                return None
            case "", "list" | "watch" if not asked.name:
                return "can only list/watch pods with spec.nodeName field selector"
            case "", "get" | "list" | "watch":
                found = self._objects.find("pods", f"{asked.namespace}/{asked.name}")
                placed = found.fields.get("spec.nodeName") if found else None
                return self._related(node, asked, related=placed == node)
            case _:
                return ""


def _only_get(asked: AccessAttributes) -> str | None:
    if asked.verb != "get":
        return "can only get individual resources of this type"
    return "cannot get subresource" if asked.subresource else None


def _account_names(pod: Document) -> Iterator[str]:
    yield pod.get("spec", {}).get("serviceAccountName", "")


def _own_node(node: str, asked: AccessAttributes) -> str | None:
    match asked.subresource, asked.verb:
        case "", "create" | "update" | "patch":
            return None
        case "status", "update" | "patch":
            return None
        case "", "get" | "list" | "watch":
            if asked.name == node:
                return None
            wanted = f"'{asked.name}'" if asked.name else "all nodes"
            return f"node '{node}' cannot read {wanted}, only its own Node object"
        case _:
            return ""


def _own_lease(node: str, asked: AccessAttributes) -> str | None:
    if asked.verb not in OWN_OBJECT:
        return "can only get, create, update, patch, or delete a node lease"
    if asked.namespace != LEASES:
        return f'can only access leases in the "{LEASES}" system namespace'
    if asked.verb != "create" and asked.name != node:
        return "can only access node lease with the same name as the requesting node"
    return None


def _own_csi_node(node: str, asked: AccessAttributes) -> str | None:
    if asked.verb not in OWN_OBJECT:
        return "can only get, create, update, patch, or delete a CSINode"
    if asked.subresource:
        return "cannot authorize CSINode subresources"
    if asked.verb != "create" and asked.name != node:
        return "can only access CSINode with the same name as the requesting node"
    return None
