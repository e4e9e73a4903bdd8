"""Which rule a write of a kubelet has to pass; writes of others pass.

A kubelet is a user `system:node:<node>` of the group `system:nodes`, as for the node authorizer,
which looks at requests before: here is what only the content of a request can tell.
"""

from collections.abc import Callable

from plimsoll.apiserver.access.users import User, find_node
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.node_restriction import claims, nodes, pods, requests, tokens
from plimsoll.apiserver.model.status import forbidden

Rule = Callable[[str, Attributes], str | None]
"""Of a node and its request: why not; None: it may. Raises ApiError for what is not there."""
RULES: dict[tuple[str, str], Rule] = {
    ("", "pods"): pods.against,
    ("", "nodes"): nodes.against,
    ("", "persistentvolumeclaims"): claims.against,
    ("", "serviceaccounts"): tokens.against,
    ("coordination.k8s.io", "leases"): requests.against_lease,
    ("storage.k8s.io", "csinodes"): requests.against_csi_node,
    ("resource.k8s.io", "resourceslices"): requests.against_slice,
    ("certificates.k8s.io", "certificatesigningrequests"): requests.against_signing,
    ("certificates.k8s.io", "podcertificaterequests"): requests.against_pod_certificate,
}
CONCERN = frozenset(RULES)


def admit(attributes: Attributes) -> None:
    """On creation, update and deletion. Raises ApiError."""
    node = find_node(User(name=attributes.user, groups=attributes.groups))
    if node is None:
        return
    if not node:
        why = f'could not determine node from user "{attributes.user}"'
    else:
        place = (attributes.resource.group, attributes.resource.plural)
        found = RULES[place](node, attributes)
        if found is None:
            return
        why = found
    raise forbidden(attributes.resource, attributes.name, why)


def on_deletion(attributes: Attributes) -> None:
    """The same; deletions pass no other plugin that changes requests."""
    if attributes.operation is Operation.DELETE and is_concerned(attributes):
        admit(attributes)


def is_concerned(attributes: Attributes) -> bool:
    return (attributes.resource.group, attributes.resource.plural) in CONCERN
