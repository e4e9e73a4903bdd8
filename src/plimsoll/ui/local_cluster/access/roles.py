"""What the parts of a local cluster may do: roles that every cluster has, and Plimsoll's own.

Own roles are written anew at each start, so that a newer version has what it needs. Nothing here is
about the administrator, whose kubeconfig is the user's.
"""

from collections.abc import Iterable

from plimsoll.api.registry import Document
from plimsoll.ui.local_cluster.access.identities import (
    CONTROLLER_USER,
    HOLLOW_USER,
    NODES,
    PROVISIONERS,
    SCHEDULER_USER,
)
from plimsoll.ui.local_cluster.objects import NAMESPACE

GROUP = "rbac.authorization.k8s.io"
VERSION = f"{GROUP}/v1"
READ = ("get", "list", "watch")
RECORDS = ("get", "list", "watch", "create", "update", "patch", "delete")
"""Of leases: the election, and what a process must not forget."""
SNAPSHOTS = "snapshot.storage.k8s.io"
CONTROLLER_ROLES = (
    "attachdetach-controller",
    "cronjob-controller",
    "daemon-set-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "ephemeral-volume-controller",
    "expand-controller",
    "generic-garbage-collector",
    "job-controller",
    "namespace-controller",
    "node-controller",
    "persistent-volume-binder",
    "pod-garbage-collector",
    "pv-protection-controller",
    "pvc-protection-controller",
    "replicaset-controller",
    "service-account-controller",
    "statefulset-controller",
)
"""Of the roles `system:controller:…`: one process runs the loops of all of them."""


def _rule(group: str, resources: Iterable[str], verbs: Iterable[str]) -> Document:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


SCHEDULER_RULES = (
    # Why a provisioner refused a node; and the records of provisioners, which are leases.
    _rule("", ["events"], ["list"]),
    _rule("coordination.k8s.io", ["leases"], ["list", "watch"]),
)
CONTROLLER_RULES = (
    _rule("", ["persistentvolumes"], [*READ, "create", "update", "patch", "delete"]),
    _rule("", ["persistentvolumeclaims"], [*READ, "create", "update", "patch", "delete"]),
    _rule("", ["persistentvolumes/status", "persistentvolumeclaims/status"], ["update", "patch"]),
    _rule("", ["pods", "pods/status", "nodes", "nodes/status"], ["get", "update", "patch"]),
    _rule("storage.k8s.io", ["volumeattachments"], [*READ, "create", "patch", "delete"]),
    _rule("storage.k8s.io", ["volumeattachments/status"], ["patch", "update"]),
    _rule(SNAPSHOTS, ["volumesnapshots"], [*READ, "update", "patch", "delete"]),
    _rule(SNAPSHOTS, ["volumesnapshotcontents"], [*READ, "create", "update", "patch", "delete"]),
    _rule(
        SNAPSHOTS,
        ["volumesnapshots/status", "volumesnapshotcontents/status"],
        ["update", "patch"],
    ),
)
PROVISIONER_RULES = (
    _rule("", ["persistentvolumes"], ["patch", "update"]),
    _rule("", ["persistentvolumeclaims"], ["patch"]),
    _rule("", ["events"], ["list"]),
    _rule("", ["nodes"], READ),
    _rule("storage.k8s.io", ["csinodes", "volumeattachments", "volumeattributesclasses"], READ),
    _rule(SNAPSHOTS, ["volumesnapshots"], [*READ, "update"]),
    _rule(SNAPSHOTS, ["volumesnapshotcontents"], READ),
)
PROVISIONER_RULES_AT_HOME = (
    _rule("coordination.k8s.io", ["leases"], RECORDS),
    _rule("storage.k8s.io", ["csistoragecapacities"], RECORDS),
    _rule("", ["secrets"], ["get"]),
)
"""In the namespace that they keep their records in."""
TAKEOVER_MAP = _rule("", ["configmaps"], ["create", "update", "patch"])
"""Which nodes serve a lost domain: `--auto-takeover on` edits it."""
NODE_RULES = (
    # kubelet looks up each of them by name; one watch costs less.
    _rule("", ["persistentvolumeclaims", "persistentvolumes"], READ),
    _rule("storage.k8s.io", ["volumeattachments"], READ),
)


def role_objects() -> list[Document]:
    """In the order in which they can be written; the namespace exists."""
    scheduler, controller = _user(SCHEDULER_USER), _user(CONTROLLER_USER)
    provisioners = _group(PROVISIONERS)
    leases = (_rule("coordination.k8s.io", ["leases"], RECORDS),)
    bootstrap = [
        _binding(f"plimsoll:{name}", f"system:controller:{name}", controller)
        for name in CONTROLLER_ROLES
    ]
    return [
        *_granted("plimsoll:scheduler", SCHEDULER_RULES, scheduler),
        *_granted("plimsoll:controller", CONTROLLER_RULES, controller),
        *_granted("plimsoll:provisioner", PROVISIONER_RULES, provisioners),
        *_granted("plimsoll:node", NODE_RULES, _group(NODES)),
        *bootstrap,
        _binding(
            "plimsoll:provisioner-volumes", "system:persistent-volume-provisioner", provisioners
        ),
        _binding("plimsoll:hollow-nodes", "system:node", _user(HOLLOW_USER)),
        *_granted("plimsoll:scheduler", leases, scheduler, namespace="kube-system"),
        *_granted(
            "plimsoll:controller",
            (*leases, TAKEOVER_MAP),
            controller,
            namespace="kube-system",
        ),
        *_granted("plimsoll:controller", leases, controller, namespace=NAMESPACE),
        *_granted(
            "plimsoll:provisioner", PROVISIONER_RULES_AT_HOME, provisioners, namespace=NAMESPACE
        ),
    ]


def _user(name: str) -> Document:
    return {"apiGroup": GROUP, "kind": "User", "name": name}


def _group(name: str) -> Document:
    return {"apiGroup": GROUP, "kind": "Group", "name": name}


def _granted(
    name: str, rules: tuple[Document, ...], subject: Document, *, namespace: str = ""
) -> list[Document]:
    role: Document = {
        "apiVersion": VERSION,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "rules": list(rules),
    }
    return [role, _binding(name, name, subject, namespace=namespace)]


def _binding(name: str, role: str, subject: Document, *, namespace: str = "") -> Document:
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": VERSION,
        "kind": f"{kind}Binding",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [subject],
    }
