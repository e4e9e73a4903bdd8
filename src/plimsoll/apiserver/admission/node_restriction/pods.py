"""Pods: a kubelet mirrors its static pods, reports on pods of its node, ends and evicts them."""

from collections.abc import Iterator

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.access.pod_references import config_map_names, secret_names
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.status import not_found

MIRROR = "kubernetes.io/config.mirror"
BY_VOLUME = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
BY_PROJECTION = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def against(node: str, attributes: Attributes) -> str | None:
    match attributes.subresource, attributes.operation:
        case "", Operation.CREATE:
            return _against_mirror(node, attributes)
        case "", Operation.DELETE:
            return _elsewhere(attributes.document, node, f'node "{node}" can only delete pods')
        case "", operation:
            what = f'node "{node}" can only create and delete mirror pods'
            return f'unexpected operation "{operation}", {what}'
        case "status", Operation.UPDATE:
            return _against_status(node, attributes)
        case "eviction", Operation.CREATE:
            pod = find_pod(attributes, attributes.name)
            return _elsewhere(pod, node, f"node {node} can only evict pods")
        case "status" | "eviction", operation:
            return f'unexpected operation "{operation}"'
        case subresource, _:
            allowed = "only 'status' and 'eviction' are allowed"
            return f'unexpected pod subresource "{subresource}", {allowed}'


def find_pod(attributes: Attributes, name: str) -> Document:
    """Raises 404."""
    pod = attributes.reader.get("", "pods", attributes.namespace, name)
    if pod is None:
        raise not_found(resources_by_path()["", "v1", "pods"], name)
    return pod


def node_of(pod: Document) -> str:
    name: str = (pod.get("spec") or {}).get("nodeName") or ""
    return name


def _elsewhere(pod: Document, node: str, only: str) -> str | None:
    return None if node_of(pod) == node else f"{only} with spec.nodeName set to itself"


def _against_mirror(node: str, attributes: Attributes) -> str | None:
    pod = attributes.document
    meta, only = pod["metadata"], f'node "{node}" can only create'
    if MIRROR not in (meta.get("annotations") or {}):
        return f'pod does not have "{MIRROR}" annotation, {only} mirror pods'
    if why := _elsewhere(pod, node, f"{only} pods"):
        return why
    owners = meta.get("ownerReferences") or []
    if len(owners) > 1:
        return f"{only} pods with a single owner reference set to itself"
    if not owners:
        return f"{only} pods with an owner reference set to itself"
    if why := _against_owner(node, owners[0], attributes):
        return why
    referred = next(references(pod), None)
    return referred and f'node "{node}" can not create pods that reference {referred}'


def _against_owner(node: str, owner: Document, attributes: Attributes) -> str | None:
    only = f'node "{node}" can only create pods with'
    found = (owner.get("apiVersion"), owner.get("kind"), owner.get("name"))
    if found != ("v1", "Node", node):
        return f"{only} an owner reference set to itself"
    if not owner.get("controller"):
        return f"{only} a controller owner reference set to itself"
    if owner.get("blockOwnerDeletion"):
        return f'node "{node}" must not set blockOwnerDeletion on an owner reference'
    held = attributes.reader.get("", "nodes", "", node)
    if held is None:
        raise not_found(resources_by_path()["", "v1", "nodes"], node)
    uid, expected = held["metadata"]["uid"], owner.get("uid")
    return f"node {node} UID mismatch: expected {expected} got {uid}" if uid != expected else None


def references(pod: Document) -> Iterator[str]:
    """Kinds of API objects that the pod needs, each with how."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        yield "serviceaccounts"
    if any(True for _ in secret_names(pod)):
        yield "secrets"
    if any(True for _ in config_map_names(pod)):
        yield "configmaps"
    if spec.get("resourceClaims"):
        yield "resourceclaims"
    for volume in spec.get("volumes") or ():
        yield from (what for source, what in BY_VOLUME.items() if source in volume)
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from (what for kind, what in BY_PROJECTION.items() if kind in source)


def _against_status(node: str, attributes: Attributes) -> str | None:
    old, new = attributes.old or {}, attributes.document
    if why := _elsewhere(old, node, f'node "{node}" can only update pod status for pods'):
        return why
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        return f'node "{node}" cannot update labels through pod status'
    before, after = old.get("status") or {}, new.get("status") or {}
    if (before.get("resourceClaimStatuses") or []) != (after.get("resourceClaimStatuses") or []):
        return f'node "{node}" cannot update resource claim statues'
    if before.get("extendedResourceClaimStatus") != after.get("extendedResourceClaimStatus"):
        return f'node "{node}" cannot update extended resource claim status'
    return None
